// expect: error: segmentation fault
int main(void)
{
    int *volatile p = (int *)0x123456789000;
    *p = 1;
    return 0;
}

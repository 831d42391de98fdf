// expect: error: segmentation fault
int main(void)
{
    volatile char *volatile p = (char *)"text";
    p[0] = 'T';
    return 0;
}

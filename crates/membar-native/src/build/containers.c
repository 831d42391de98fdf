/* What libstdc++ has of std::map, std::set and std::list in its compiled part, so that it can be instrumented. */

typedef struct node node;
struct node {
    int black;
    node *parent, *left, *right;
};
/* Beside the tree there is its head: the parent is the root, left and right are the first and the last node; it is red. */

typedef struct link link;
struct link {
    link *next, *prev;
};

static node **side(node *of, int right)
{
    return right ? &of->right : &of->left;
}

static node *outermost(node *from, int right)
{
    for (node *next; (next = *side(from, right)) != 0;)
        from = next;
    return from;
}

/* The next node in order, to the right or to the left. */
static node *step(node *at, int right)
{
    node *inner = *side(at, right);
    if (inner)
        return outermost(inner, !right);
    node *up = at->parent;
    while (at == *side(up, right)) {
        at = up;
        up = up->parent;
    }
    /* From the root of a tree that has nothing on that side, its head is reached, which points back. */
    return *side(at, right) == up ? at : up;
}

/* Puts `with` where `old` hangs. */
static void replace(node *head, node *old, node *with)
{
    node *up = old->parent;
    if (head->parent == old)
        head->parent = with;
    else
        *side(up, up->right == old) = with;
}

static void rotate(node *head, node *at, int right)
{
    node *up = *side(at, !right), *inner = *side(up, right);
    *side(at, !right) = inner;
    if (inner)
        inner->parent = at;
    up->parent = at->parent;
    replace(head, at, up);
    *side(up, right) = at;
    at->parent = up;
}

static int is_black(node *at)
{
    return !at || at->black;
}

node *increment(node *at) __asm__("_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base");
node *increment(node *at)
{
    return step(at, 1);
}

node *increment_const(node *at) __asm__("_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base");
node *increment_const(node *at)
{
    return step(at, 1);
}

static node *back(node *at)
{
    /* From the head, which is red and its root's parent, to the last node. */
    if (!at->black && at->parent->parent == at)
        return at->right;
    return step(at, 0);
}

node *decrement(node *at) __asm__("_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base");
node *decrement(node *at)
{
    return back(at);
}

node *decrement_const(node *at) __asm__("_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base");
node *decrement_const(node *at)
{
    return back(at);
}

void insert(_Bool left, node *new, node *up, node *head)
    __asm__("_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_");
void insert(_Bool left, node *new, node *up, node *head)
{
    new->parent = up;
    new->left = 0;
    new->right = 0;
    new->black = 0;
    if (up == head) {
        head->parent = new;
        head->left = new;
        head->right = new;
    } else {
        *side(up, !left) = new;
        if (left && up == head->left)
            head->left = new;
        else if (!left && up == head->right)
            head->right = new;
    }
    /* A red node has no red parent. */
    while (new != head->parent && !new->parent->black) {
        node *grand = new->parent->parent;
        int right = new->parent == grand->right;
        node *uncle = *side(grand, !right);
        if (!is_black(uncle)) {
            new->parent->black = 1;
            uncle->black = 1;
            grand->black = 0;
            new = grand;
            continue;
        }
        if (new == *side(new->parent, !right)) {
            new = new->parent;
            rotate(head, new, right);
        }
        new->parent->black = 1;
        grand->black = 0;
        rotate(head, grand, !right);
    }
    head->parent->black = 1;
}

node *erase(node *old, node *head) __asm__("_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_");
node *erase(node *old, node *head)
{
    node *below, *up;
    int black = old->black;
    if (old->left && old->right) {
        /* The next one in order takes its place. */
        node *next = outermost(old->right, 0);
        below = next->right;
        black = next->black;
        if (next == old->right) {
            up = next;
        } else {
            up = next->parent;
            up->left = below;
            if (below)
                below->parent = up;
            next->right = old->right;
            old->right->parent = next;
        }
        next->left = old->left;
        old->left->parent = next;
        replace(head, old, next);
        next->parent = old->parent;
        next->black = old->black;
    } else {
        below = old->left ? old->left : old->right;
        up = old->parent;
        if (below)
            below->parent = up;
        replace(head, old, below);
        if (head->left == old)
            head->left = below ? outermost(below, 0) : up;
        if (head->right == old)
            head->right = below ? outermost(below, 1) : up;
    }
    /* All ways down have as many black nodes: the one through `below` has one too few. */
    while (black && below != head->parent && is_black(below)) {
        int right = below == up->right;
        node *other = *side(up, !right);
        if (!other->black) {
            other->black = 1;
            up->black = 0;
            rotate(head, up, right);
            other = *side(up, !right);
        }
        if (is_black(other->left) && is_black(other->right)) {
            other->black = 0;
            below = up;
            up = up->parent;
            continue;
        }
        if (is_black(*side(other, !right))) {
            (*side(other, right))->black = 1;
            other->black = 0;
            rotate(head, other, !right);
            other = *side(up, !right);
        }
        other->black = up->black;
        up->black = 1;
        (*side(other, !right))->black = 1;
        rotate(head, up, right);
        break;
    }
    if (black && below)
        below->black = 1;
    return old;
}

void hook(link *this, link *before) __asm__("_ZNSt8__detail15_List_node_base7_M_hookEPS0_");
void hook(link *this, link *before)
{
    this->next = before;
    this->prev = before->prev;
    before->prev->next = this;
    before->prev = this;
}

void unhook(link *this) __asm__("_ZNSt8__detail15_List_node_base9_M_unhookEv");
void unhook(link *this)
{
    link *next = this->next, *prev = this->prev;
    prev->next = next;
    next->prev = prev;
}

/* Moves what is from `first` up to, but not including, `end`, to before this. */
void transfer(link *this, link *first, link *end) __asm__("_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_");
void transfer(link *this, link *first, link *end)
{
    if (this == end)
        return;
    link *last = end->prev, *before = this->prev, *gap = first->prev;
    gap->next = end;
    end->prev = gap;
    before->next = first;
    first->prev = before;
    last->next = this;
    this->prev = last;
}

void reverse(link *this) __asm__("_ZNSt8__detail15_List_node_base10_M_reverseEv");
void reverse(link *this)
{
    link *at = this;
    do {
        link *next = at->next;
        at->next = at->prev;
        at->prev = next;
        at = next;
    } while (at != this);
}

static void adopt(link *head, link *was)
{
    if (head->next == was) {
        head->next = head;
        head->prev = head;
    } else {
        head->next->prev = head;
        head->prev->next = head;
    }
}

void swap(link *a, link *b) __asm__("_ZNSt8__detail15_List_node_base4swapERS0_S1_");
void swap(link *a, link *b)
{
    link kept = *a;
    a->next = b->next;
    a->prev = b->prev;
    b->next = kept.next;
    b->prev = kept.prev;
    adopt(a, b);
    adopt(b, a);
}

#include "base/list.h"

void ace_list_init(ace_list *list)
{
    list->head.previous = &list->head;
    list->head.next = &list->head;
    list->count = 0;
}

bool ace_list_empty(const ace_list *list)
{
    return list->head.next == &list->head;
}

void ace_list_append(ace_list *list, ace_link_node *node)
{
    ace_list_insert_after(list, list->head.previous, node);
}

void ace_list_prepend(ace_list *list, ace_link_node *node)
{
    ace_list_insert_after(list, &list->head, node);
}

void ace_list_insert_after(ace_list *list, ace_link_node *position, ace_link_node *node)
{
    node->previous = position;
    node->next = position->next;
    position->next->previous = node;
    position->next = node;
    list->count++;
}

void ace_list_remove(ace_list *list, ace_link_node *node)
{
    node->previous->next = node->next;
    node->next->previous = node->previous;
    node->previous = NULL;
    node->next = NULL;
    list->count--;
}

ace_link_node *ace_list_first(const ace_list *list)
{
    return list->head.next == &list->head ? NULL : list->head.next;
}

ace_link_node *ace_list_next(const ace_list *list, const ace_link_node *node)
{
    return node->next == &list->head ? NULL : node->next;
}

ace_link_node *ace_list_take_first(ace_list *list)
{
    ace_link_node *node = ace_list_first(list);
    if (node != NULL) {
        ace_list_remove(list, node);
    }
    return node;
}

void ace_list_splice(ace_list *to, ace_list *from)
{
    if (ace_list_empty(from)) {
        return;
    }
    ace_link_node *first = from->head.next;
    ace_link_node *last = from->head.previous;
    first->previous = to->head.previous;
    to->head.previous->next = first;
    last->next = &to->head;
    to->head.previous = last;
    to->count += from->count;
    ace_list_init(from);
}

bool ace_list_contains_node(const ace_link_node *node)
{
    return node->next != NULL;
}

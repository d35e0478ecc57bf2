/* A doubly linked list through the members of its records. */
#ifndef ACE_BASE_LIST_H
#define ACE_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ace_link_node {
    struct ace_link_node *previous;
    struct ace_link_node *next;
} ace_link_node;

typedef struct ace_list {
    ace_link_node head; /* a ring; empty when it points to itself */
    size_t count;
} ace_list;

/* The record that `node` is the member `member` of. */
#define ACE_RECORD(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

void ace_list_init(ace_list *list);
bool ace_list_empty(const ace_list *list);
void ace_list_append(ace_list *list, ace_link_node *node);
void ace_list_prepend(ace_list *list, ace_link_node *node);
void ace_list_insert_after(ace_list *list, ace_link_node *position, ace_link_node *node);
void ace_list_remove(ace_list *list, ace_link_node *node); /* node->next becomes NULL */
ace_link_node *ace_list_first(const ace_list *list);       /* NULL when empty */
ace_link_node *ace_list_next(const ace_list *list, const ace_link_node *node); /* NULL at the end */
ace_link_node *ace_list_take_first(ace_list *list);
void ace_list_splice(ace_list *to, ace_list *from); /* appends all of `from`, which is then empty */
bool ace_list_contains_node(const ace_link_node *node); /* is the node on some list */

#endif

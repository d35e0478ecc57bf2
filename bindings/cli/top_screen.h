/* The live view of `acemq top`: a terminal in full-screen mode, by ncurses. One at a time, on one
 * thread. */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include "top.h"

typedef enum top_sort {
    TOP_BY_NAME,
    TOP_BY_READY,
    TOP_BY_DEAD,
    TOP_BY_CONSUMERS,
    TOP_SORTS,
} top_sort;

typedef struct top_view {
    top_sort sort;
    bool paused;
    size_t first;  /* line of the list that is shown first */
    int64_t every; /* ms */
} top_view;

typedef enum top_key {
    TOP_KEY_NONE,
    TOP_KEY_QUIT,
    TOP_KEY_CHANGED, /* the view did, or the terminal's size: draw again */
    TOP_KEY_REFRESH, /* read at once */
} top_key;

/* Takes the terminal over; CLI_DONE, or a status after saying why not. It is given back by
 * top_screen_end(), and also when the process is ended by a fault or by a second Ctrl-C. */
int top_screen_begin(void);
void top_screen_end(void);
void top_screen_draw(const top_reading *reading, top_view *view);
/* The next key that waits, with what it does to the view done. Never waits. */
top_key top_screen_key(top_view *view);

#endif

#include "top_screen.h"

#include "command.h"
#include "output.h"
#include "signals.h"

#ifdef CLI_HAS_NCURSES

#include <curses.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { PLAIN = 0, ALARM = 1, CAUTION = 2, GOOD = 3 };

static SCREEN *screen;
static struct termios saved_terminal;
static bool is_saved;
static char farewell[128]; /* what puts the terminal back, made while there is time */
static size_t farewell_length;

/* --- the terminal, given back whatever happens --- */

static void append_farewell(const char *capability)
{
    const char *text = tigetstr(capability);
    if (text == NULL || text == (const char *)-1) {
        return;
    }
    size_t length = strlen(text);
    if (farewell_length + length <= sizeof farewell) {
        memcpy(farewell + farewell_length, text, length);
        farewell_length += length;
    }
}

/* Safe in a signal handler. */
static void give_back(void)
{
    ssize_t written = write(STDOUT_FILENO, farewell, farewell_length);
    (void)written;
    if (is_saved) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &saved_terminal);
    }
}

static void on_fault(int signal_number)
{
    give_back();
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
}

static void watch_faults(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action = {.sa_handler = on_fault};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        (void)sigaction(faults[i], &action, NULL);
    }
}

static void begin_colours(void)
{
    const char *forbidden = getenv("NO_COLOR");
    bool allowed = forbidden == NULL || forbidden[0] == '\0';
    if (!allowed || !has_colors() || start_color() != OK || use_default_colors() != OK) {
        return;
    }
    init_pair(ALARM, COLOR_RED, -1);
    init_pair(CAUTION, COLOR_YELLOW, -1);
    init_pair(GOOD, COLOR_GREEN, -1);
}

int top_screen_begin(void)
{
    is_saved = tcgetattr(STDIN_FILENO, &saved_terminal) == 0;
    (void)setlocale(LC_CTYPE, "");
    screen = newterm(NULL, stdout, stdin);
    if (screen == NULL) {
        return cli_fail_text("unsupported", "the terminal %s cannot show a live view",
                             getenv("TERM") == NULL ? "without a TERM" : getenv("TERM"));
    }
    append_farewell("sgr0");
    append_farewell("cnorm");
    append_farewell("rmcup");
    watch_faults();
    cli_at_sudden_end(give_back);
    begin_colours();
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)curs_set(0);
    (void)keypad(stdscr, TRUE);
    (void)nodelay(stdscr, TRUE);
    return CLI_DONE;
}

void top_screen_end(void)
{
    if (screen != NULL) {
        (void)endwin();
        delscreen(screen);
        screen = NULL;
    }
}

/* --- drawing --- */

static void paint(int colour, bool bold)
{
    (void)attrset((bold ? A_BOLD : A_NORMAL) | (has_colors() ? COLOR_PAIR(colour) : 0));
}

/* Names come from elsewhere: nothing in them may steer the terminal. */
static void draw_name(const char *name, int width)
{
    char shown[ACEMQ_NAME_SIZE];
    snprintf(shown, sizeof shown, "%s", name);
    for (char *at = shown; *at != '\0'; at++) {
        if ((unsigned char)*at < 32 || *at == 127) {
            *at = '.';
        }
    }
    (void)addnstr(shown, width < 0 ? 0 : width);
}

static void draw_head(const top_reading *reading, const top_view *view)
{
    char when[16] = "--:--:--";
    time_t seconds = (time_t)(reading->wall / 1000);
    struct tm local;
    if (reading->taken_at > 0 && localtime_r(&seconds, &local) != NULL) {
        (void)strftime(when, sizeof when, "%H:%M:%S", &local);
    }
    bool open = reading->state == ACEMQ_CONNECTION_OPEN;
    paint(PLAIN, true);
    (void)mvaddstr(0, 0, "acemq top  ");
    paint(reading->taken_at == 0 ? PLAIN : open ? GOOD : ALARM, true);
    (void)addstr(reading->taken_at == 0 && reading->trouble[0] == '\0'
                     ? "reading"
                     : top_state_name(reading->state));
    paint(PLAIN, false);
    (void)printw("  %s  every %.1f s%s", when, (double)view->every / 1000.0,
                 view->paused ? "  PAUSED" : "");
    paint(ALARM, false);
    (void)mvaddnstr(1, 0, reading->trouble, COLS);
}

static void draw_rate(const top_queue *queue, double value)
{
    paint(PLAIN, false);
    if (queue->has_rates) {
        (void)printw(" %+9.1f", value);
    } else {
        (void)printw(" %9s", "-");
    }
}

static void draw_number(uint64_t number, int width, int colour)
{
    paint(number == 0 ? PLAIN : colour, number != 0 && colour != PLAIN);
    (void)printw(" %*" PRIu64, width, number);
}

static void draw_queue(int line, const top_queue *queue)
{
    bool unattended = queue->ready > 0 && queue->consumers == 0;
    (void)move(line, 0);
    draw_number(queue->ready, 9, unattended ? CAUTION : PLAIN);
    draw_rate(queue, queue->ready_rate);
    paint(unattended ? CAUTION : PLAIN, unattended);
    (void)printw(" %9" PRIu64, queue->consumers);
    draw_number(top_waiting(queue), 9, PLAIN);
    draw_number(queue->dead_lettered, 9, ALARM);
    draw_rate(queue, queue->dead_rate);
    draw_number(queue->parked, 9, CAUTION);
    paint(queue->exists ? PLAIN : CAUTION, false);
    (void)addstr("  ");
    draw_name(queue->name, COLS - getcurx(stdscr) - (queue->exists ? 0 : 10));
    if (!queue->exists) {
        (void)addstr(" (missing)");
    }
}

static void draw_rung(int line, const top_rung *rung)
{
    paint(PLAIN, false);
    (void)mvprintw(line, 30, " %9" PRIu64, rung->messages);
    (void)move(line, 74);
    draw_name(rung->name, COLS - 74);
}

static top_sort sorted_by;

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? 1 : a > b ? -1 : 0; /* the most first */
}

static int compare(const void *first, const void *second)
{
    const top_queue *a = *(const top_queue *const *)first;
    const top_queue *b = *(const top_queue *const *)second;
    int order = 0;
    switch (sorted_by) {
    case TOP_BY_READY:
        order = compare_numbers(a->ready, b->ready);
        break;
    case TOP_BY_DEAD:
        order = compare_numbers(a->dead_lettered + a->parked, b->dead_lettered + b->parked);
        break;
    case TOP_BY_CONSUMERS:
        order = compare_numbers(b->consumers, a->consumers); /* the fewest first */
        break;
    case TOP_BY_NAME:
    case TOP_SORTS:
    default:
        break;
    }
    return order != 0 ? order : strcmp(a->name, b->name);
}

static size_t line_count(const top_reading *reading)
{
    size_t rows = 0;
    for (size_t i = 0; i < reading->count; i++) {
        rows += reading->queues[i].plain && !reading->queues[i].exists
                    ? 0
                    : 1 + reading->queues[i].rung_count;
    }
    return rows;
}

/* The lines of the list from `first` on, as many as there is room for. */
static void draw_list(const top_queue *const *queues, size_t count, size_t first)
{
    const int top = 3;
    size_t line = 0;
    for (size_t i = 0; i < count; i++) {
        if (queues[i]->plain && !queues[i]->exists) {
            continue;
        }
        for (size_t part = 0; part <= queues[i]->rung_count; part++, line++) {
            int at = top + (int)line - (int)first;
            if (at < top || at >= LINES - 1) {
                continue;
            }
            if (part == 0) {
                draw_queue(at, queues[i]);
            } else {
                draw_rung(at, &queues[i]->rungs[part - 1]);
            }
        }
    }
}

static void draw_queues(const top_reading *reading, top_view *view)
{
    const top_queue **queues = malloc((reading->count + 1) * sizeof *queues);
    if (queues == NULL) {
        return;
    }
    for (size_t i = 0; i < reading->count; i++) {
        queues[i] = &reading->queues[i];
    }
    sorted_by = view->sort;
    qsort((void *)queues, reading->count, sizeof *queues, compare);
    size_t rows = line_count(reading);
    size_t room = LINES > 4 ? (size_t)LINES - 4 : 1;
    size_t last = rows > room ? rows - room : 0;
    view->first = view->first > last ? last : view->first;
    draw_list(queues, reading->count, view->first);
    free((void *)queues);
}

void top_screen_draw(const top_reading *reading, top_view *view)
{
    static const char *const sorts[TOP_SORTS] = {"name", "ready", "dead letters", "consumers"};
    (void)erase();
    draw_head(reading, view);
    paint(PLAIN, true);
    (void)mvprintw(2, 0, " %9s %9s %9s %9s %9s %9s %9s  %s", "READY", "PER S", "CONSUMERS",
                   "WAITING", "DEAD", "PER S", "PARKED", "QUEUE");
    if (reading->taken_at > 0 && line_count(reading) == 0) {
        paint(PLAIN, false);
        (void)mvaddnstr(3, 0, " AMQP lists no queues: name those to watch, acemq top QUEUE...",
                        COLS);
    }
    draw_queues(reading, view);
    paint(PLAIN, false);
    (void)mvprintw(LINES - 1, 0, "q quit  p %s  s sort: %s  r read now  up/down scroll",
                   view->paused ? "go on" : "pause", sorts[view->sort]);
    (void)refresh();
}

top_key top_screen_key(top_view *view)
{
    switch (getch()) {
    case ERR:
        return TOP_KEY_NONE;
    case 'q':
    case 'Q':
    case 3: /* Ctrl-C where the terminal sends no signal for it */
        return TOP_KEY_QUIT;
    case 'p':
        view->paused = !view->paused;
        return TOP_KEY_CHANGED;
    case 's':
        view->sort = (top_sort)((view->sort + 1) % TOP_SORTS);
        return TOP_KEY_CHANGED;
    case 'r':
        return TOP_KEY_REFRESH;
    case KEY_UP:
        view->first -= view->first > 0 ? 1 : 0;
        return TOP_KEY_CHANGED;
    case KEY_DOWN:
        view->first++;
        return TOP_KEY_CHANGED;
    default: /* KEY_RESIZE among them */
        return TOP_KEY_CHANGED;
    }
}

#else

int top_screen_begin(void)
{
    return cli_fail_text("unsupported", "this acemq was built without ncurses and has no live "
                                        "view; --once prints one reading");
}

void top_screen_end(void)
{
}

void top_screen_draw(const top_reading *reading, top_view *view)
{
    (void)reading;
    (void)view;
}

top_key top_screen_key(top_view *view)
{
    (void)view;
    return TOP_KEY_QUIT;
}

#endif

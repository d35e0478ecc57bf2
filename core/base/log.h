/* Where the engine says what no return value can carry. A logger is a value of its owner: there is
 * no global one. Passwords are never formatted into a line. */
#ifndef ACE_BASE_LOG_H
#define ACE_BASE_LOG_H

typedef enum ace_log_level {
    ACE_LOG_ERROR = 1,
    ACE_LOG_WARNING = 2,
    ACE_LOG_INFO = 3,
    ACE_LOG_DEBUG = 4,
} ace_log_level;

/* One line without its end, any thread; must not call back into the library. */
typedef void ace_log_sink(ace_log_level level, const char *line, void *user);

typedef struct ace_log {
    ace_log_sink *sink; /* NULL: silent */
    void *user;
    ace_log_level level; /* lines above it are not formatted */
} ace_log;

/* `log` may be NULL. */
void ace_log_write(const ace_log *log, ace_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

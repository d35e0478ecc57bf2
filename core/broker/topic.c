/* Topic patterns. */
#include "broker/routing.h"

#include <string.h>

/* What is left of a text: words, and whether there are any. "a." has two of them, the second empty.
 */
typedef struct words {
    const uint8_t *at;
    const uint8_t *end;
    bool more;
} words;

static words words_of(ace_bytes text)
{
    return (words){text.data, text.data + text.length, text.length > 0};
}

static ace_bytes take_word(words *rest)
{
    const uint8_t *dot = memchr(rest->at, '.', (size_t)(rest->end - rest->at));
    ace_bytes word = {rest->at, (size_t)((dot ? dot : rest->end) - rest->at)};

    rest->more = dot != NULL;
    rest->at = dot ? dot + 1 : rest->end;
    return word;
}

static bool word_is(ace_bytes word, char letter)
{
    return word.length == 1 && word.data[0] == (uint8_t)letter;
}

/* As with file name patterns: the last `#` takes one word more when what follows it does not fit,
 * and earlier ones never need to be tried again. Linear for one `#`, never exponential. */
bool ace_broker_topic_matches(ace_bytes pattern, ace_bytes key)
{
    words wanted = words_of(pattern);
    words given = words_of(key);
    words after_hash = {NULL, NULL, false};
    words hash_took = {NULL, NULL, false};
    bool have_hash = false;

    while (given.more || wanted.more) {
        if (wanted.more) {
            words pattern_rest = wanted;
            ace_bytes word = take_word(&pattern_rest);

            if (word_is(word, '#')) {
                have_hash = true;
                after_hash = wanted = pattern_rest;
                hash_took = given;
                continue;
            }
            if (given.more) {
                words key_rest = given;
                ace_bytes against = take_word(&key_rest);

                if (word_is(word, '*') || ace_bytes_equal(word, against)) {
                    wanted = pattern_rest;
                    given = key_rest;
                    continue;
                }
            }
        }
        if (!have_hash || !hash_took.more)
            return false;
        take_word(&hash_took);
        given = hash_took;
        wanted = after_hash;
    }
    return true;
}

/* Topic patterns against a matcher that is too simple to be wrong, over every short pattern and
 * key. */
#include "broker/routing.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 8

typedef struct word_list {
    const char *words[WORDS_MAX];
    size_t lengths[WORDS_MAX];
    size_t count;
} word_list;

static word_list split(const char *text)
{
    word_list list = {.count = 0};

    if (text[0] == '\0')
        return list;
    for (;;) {
        const char *dot = strchr(text, '.');

        list.words[list.count] = text;
        list.lengths[list.count++] = dot ? (size_t)(dot - text) : strlen(text);
        if (!dot)
            return list;
        text = dot + 1;
    }
}

static bool is_word(const word_list *list, size_t at, const char *word)
{
    return list->lengths[at] == strlen(word) &&
           strncmp(list->words[at], word, list->lengths[at]) == 0;
}

static bool naive(const word_list *pattern, size_t p, const word_list *key, size_t k)
{
    if (p == pattern->count)
        return k == key->count;
    if (is_word(pattern, p, "#"))
        return naive(pattern, p + 1, key, k) || (k < key->count && naive(pattern, p, key, k + 1));
    if (k == key->count)
        return false;
    return (is_word(pattern, p, "*") ||
            (pattern->lengths[p] == key->lengths[k] &&
             strncmp(pattern->words[p], key->words[k], key->lengths[k]) == 0)) &&
           naive(pattern, p + 1, key, k + 1);
}

/* The text number `number` over an alphabet of single characters, by length. */
static void text_of(size_t number, const char *alphabet, size_t length, char *text)
{
    size_t letters = strlen(alphabet);

    for (size_t i = 0; i < length; i++, number /= letters)
        text[i] = alphabet[number % letters];
    text[length] = '\0';
}

static size_t power(size_t base, size_t exponent)
{
    size_t result = 1;

    while (exponent-- > 0)
        result *= base;
    return result;
}

static size_t compare_all(size_t pattern_length, size_t key_length)
{
    static const char pattern_letters[] = "ab.*#";
    static const char key_letters[] = "ab.";
    size_t matches = 0;

    for (size_t i = 0; i < power(5, pattern_length); i++) {
        char pattern[WORDS_MAX + 1];
        word_list pattern_words;

        text_of(i, pattern_letters, pattern_length, pattern);
        pattern_words = split(pattern);
        for (size_t j = 0; j < power(3, key_length); j++) {
            char key[WORDS_MAX + 1];
            word_list key_words;
            bool expected;

            text_of(j, key_letters, key_length, key);
            key_words = split(key);
            expected = naive(&pattern_words, 0, &key_words, 0);
            /* Millions of them: Check's own assertion would take most of the time. */
            if (ace_broker_topic_matches(ace_bytes_of(pattern), ace_bytes_of(key)) != expected)
                ck_abort_msg("pattern %s, key %s: not %d", pattern, key, expected);
            matches += expected;
        }
    }
    return matches;
}

START_TEST(every_short_pattern_agrees_with_a_naive_matcher)
{
    size_t matches = 0;

    for (size_t pattern = 0; pattern <= 6; pattern++) {
        for (size_t key = 0; key <= 5; key++)
            matches += compare_all(pattern, key);
    }
    ck_assert_uint_gt(matches, 10000);
}
END_TEST

START_TEST(words_and_wildcards)
{
    static const struct {
        const char *pattern;
        const char *key;
        bool matches;
    } cases[] = {{"", "", true},          {"#", "", true},
                 {"*", "", false},        {"*", "a", true},
                 {"a.*", "a.", true},     {"a.*", "a", false},
                 {"a.#", "a", true},      {"a.#.b", "a.b", true},
                 {"#.#", "", true},       {"a.#.c.#.d", "a.c.b.c.d", true},
                 {"*.*", "a.b.c", false}, {"#.a", "b.a.a", true},
                 {"a#", "ab", false},     {"a*", "a*", true}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_msg(ace_broker_topic_matches(ace_bytes_of(cases[i].pattern),
                                               ace_bytes_of(cases[i].key)) == cases[i].matches,
                      "%s %s", cases[i].pattern, cases[i].key);
}
END_TEST

START_TEST(many_wildcards_take_no_exponential_time)
{
    char pattern[256] = "";
    char key[256] = "";

    for (int i = 0; i < 60; i++) {
        strcat(pattern, "#.a.");
        strcat(key, "a.a.");
    }
    strcat(pattern, "b");
    strcat(key, "c");
    ck_assert(!ace_broker_topic_matches(ace_bytes_of(pattern), ace_bytes_of(key)));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("topic patterns");
    TCase *tcase = tcase_create("patterns");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, every_short_pattern_agrees_with_a_naive_matcher);
    tcase_add_test(tcase, words_and_wildcards);
    tcase_add_test(tcase, many_wildcards_take_no_exponential_time);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

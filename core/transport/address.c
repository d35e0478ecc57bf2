#include "transport/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_HOST 255

uint16_t ace_address_port(const ace_address *address)
{
    return ntohs(address->socket.any.sa_family == AF_INET6 ? address->socket.v6.sin6_port
                                                           : address->socket.v4.sin_port);
}

void ace_address_format(const ace_address *address, char text[ACE_ADDRESS_TEXT_MAX])
{
    bool is_v6 = address->socket.any.sa_family == AF_INET6;
    const void *raw = is_v6 ? (const void *)&address->socket.v6.sin6_addr
                            : (const void *)&address->socket.v4.sin_addr;
    char number[INET6_ADDRSTRLEN] = "";
    if (inet_ntop(address->socket.any.sa_family, raw, number, sizeof number) == NULL) {
        number[0] = '\0';
    }
    snprintf(text, ACE_ADDRESS_TEXT_MAX, "%s%s%s:%u", is_v6 ? "[" : "", number, is_v6 ? "]" : "",
             ace_address_port(address));
}

bool ace_address_equal(const ace_address *a, const ace_address *b)
{
    if (a->socket.any.sa_family != b->socket.any.sa_family ||
        ace_address_port(a) != ace_address_port(b)) {
        return false;
    }
    if (a->socket.any.sa_family == AF_INET6) {
        return memcmp(&a->socket.v6.sin6_addr, &b->socket.v6.sin6_addr,
                      sizeof a->socket.v6.sin6_addr) == 0;
    }
    return a->socket.any.sa_family == AF_INET &&
           a->socket.v4.sin_addr.s_addr == b->socket.v4.sin_addr.s_addr;
}

static bool is_internet(const ace_address *address)
{
    return address->socket.any.sa_family == AF_INET || address->socket.any.sa_family == AF_INET6;
}

bool ace_address_of_socket(int descriptor, ace_address *address)
{
    memset(address, 0, sizeof *address);
    address->length = sizeof address->socket;
    return getsockname(descriptor, &address->socket.any, &address->length) == 0 &&
           is_internet(address);
}

bool ace_address_of_peer(int descriptor, ace_address *address)
{
    memset(address, 0, sizeof *address);
    address->length = sizeof address->socket;
    return getpeername(descriptor, &address->socket.any, &address->length) == 0 &&
           is_internet(address);
}

/* --- resolving ------------------------------------------------------------------------------ */

void ace_address_list_free(ace_address_list *list)
{
    if (list != NULL) {
        free(list->addresses);
        free(list->name);
        free(list);
    }
}

static ace_code strip_brackets(const char *host, char stripped[LONGEST_HOST + 1], ace_error **error)
{
    size_t length = strlen(host);
    if (length > 1 && host[0] == '[' && host[length - 1] == ']') {
        host++;
        length -= 2;
    }
    if (length == 0) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "host is empty");
    }
    if (length > LONGEST_HOST) {
        ace_fail(error, ACE_LIMIT, "host has %zu bytes, the limit is %d", length, LONGEST_HOST);
        ace_error_field(error, "host", LONGEST_HOST);
        return ACE_LIMIT;
    }
    memcpy(stripped, host, length);
    stripped[length] = '\0';
    return ACE_OK;
}

static bool copy_addresses(ace_address_list *list, const struct addrinfo *found)
{
    size_t count = 0;
    for (const struct addrinfo *one = found; one != NULL; one = one->ai_next) {
        count++;
    }
    list->addresses = calloc(count, sizeof *list->addresses);
    if (list->addresses == NULL) {
        return false;
    }
    for (const struct addrinfo *one = found; one != NULL; one = one->ai_next) {
        if (one->ai_addrlen <= sizeof list->addresses->socket) {
            ace_address *to = &list->addresses[list->count++];
            memcpy(&to->socket, one->ai_addr, one->ai_addrlen);
            to->length = one->ai_addrlen;
        }
    }
    return true;
}

static ace_address_list *new_list(const char *host, uint16_t port, const struct addrinfo *found)
{
    ace_address_list *list = calloc(1, sizeof *list);
    if (list == NULL) {
        return NULL;
    }
    size_t room = strlen(host) + sizeof "[]:65535";
    list->name = malloc(room);
    if (list->name == NULL || !copy_addresses(list, found)) {
        ace_address_list_free(list);
        return NULL;
    }
    bool is_v6 = strchr(host, ':') != NULL;
    snprintf(list->name, room, "%s%s%s:%u", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
    return list;
}

static ace_code fail_resolving(int status, int error_number, const char *host, uint16_t port,
                               ace_error **error)
{
    if (status == EAI_MEMORY) {
        return ace_fail_memory(error);
    }
    char space[128];
    const char *why =
        status == EAI_SYSTEM ? strerror_r(error_number, space, sizeof space) : gai_strerror(status);
    return ace_fail(error, ACE_UNREACHABLE, "cannot resolve %s (port %u): %s", host, port, why);
}

static ace_code resolve(const char *host, uint16_t port, int flags, ace_address_list **list,
                        ace_error **error)
{
    char stripped[LONGEST_HOST + 1];
    ace_code code = strip_brackets(host, stripped, error);
    if (code != ACE_OK) {
        return code;
    }
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    struct addrinfo hints = {0};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | flags;
    struct addrinfo *found = NULL;
    int status = getaddrinfo(stripped, service, &hints, &found);
    if (status != 0) {
        return fail_resolving(status, errno, stripped, port, error);
    }
    ace_address_list *made = new_list(stripped, port, found);
    freeaddrinfo(found);
    if (made == NULL) {
        return ace_fail_memory(error);
    }
    if (made->count == 0) {
        ace_address_list_free(made);
        return fail_resolving(EAI_NONAME, 0, stripped, port, error);
    }
    *list = made;
    return ACE_OK;
}

ace_code ace_address_resolve(const char *host, uint16_t port, ace_address_list **list,
                             ace_error **error)
{
    if (port == 0) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "port is 0, it must be from 1 to 65535");
    }
    return resolve(host, port, 0, list, error);
}

ace_code ace_address_resolve_own(const char *host, uint16_t port, ace_address_list **list,
                                 ace_error **error)
{
    return resolve(host, port, AI_PASSIVE, list, error);
}

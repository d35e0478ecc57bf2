#include <acemq/version.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 2 || strcmp(argv[1], "version") != 0) {
        fputs("usage: acemq version\n", stderr);
        return 2;
    }
    printf("acemq %s, ABI %d\n", acemq_version(), acemq_abi_version());
    return 0;
}

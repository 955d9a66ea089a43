/* What the generated bindings need of it, and a little more; coxswain.c has the bodies. */
#ifndef COXSWAIN_STRING_H
#define COXSWAIN_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *one, const void *other, size_t size);
size_t strlen(const char *text);

#endif

# SPDX-License-Identifier: GPL-2.0-only
#
# The programs that compile and link, and what all C and assembly has of flags.

CC      := gcc
LD      := ld
NASM    := nasm
STRIP   := strip

# ccache, where it is installed, gives back what was compiled before of the same text, in whatever folder of whatever clone:
# images that differ in one option share nearly all objects. Its folder has a gcc of its own. It compares the text behind the
# preprocessor alone.
ifneq ($(wildcard /usr/lib/ccache/gcc),)
export PATH := /usr/lib/ccache:$(PATH)
endif
export CCACHE_NOHASHDIR := 1
export CCACHE_NODIRECT := 1

WARN    := -Wall -Wextra -Werror -Wshadow -Wundef -Wmissing-prototypes -Wstrict-prototypes -Wvla

A := arch/x86_64
# Not -Wall: newer versions then warn of every relocation that the entry code needs.
NASMFLAGS := -f elf64 -g -F dwarf -Werror -I$(A)/ -Ivmm/

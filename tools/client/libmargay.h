/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * libmargay: commands the node from its management VM, whose file says control = yes. One
 * object has one request at a time, and a port from that to its answer: any number of them may be
 * open at once. docs/management-vm.md has the protocol, and what the answers' lines say.
 */
#ifndef LIBMARGAY_H
#define LIBMARGAY_H

#include <stddef.h>

#include <margay/management.h>

struct margay;

/*
 * Its ports are that of the environment's MARGAY_PORT, a path, or those whose name in
 * /sys/class/virtio-ports begins with "margay.". NULL: there is none, and why in error[size].
 */
struct margay *margay_open(char *error, size_t size);
void margay_close(struct margay *m);
/*
 * Keeps a port, for which others wait, or gives it back. 0; -1: none is free, errno EBUSY. What has
 * begun there ends with it.
 */
int margay_hold(struct margay *m, int hold);

#define MARGAY_USER_MAX 32
/*
 * Who commands: the node's events name him, from the next request on that is one. NULL or "":
 * nobody.
 */
void margay_set_user(struct margay *m, const char *user);

/*
 * Sends a request with n bytes of text or data, at most MARGAY_DATA_MAX, and waits for its answer:
 * 0, or the error number of the node's, or -1 when the channel broke (errno). *answer: what it
 * says, or why not, terminated, until the next call.
 */
#define MARGAY_DATA_MAX (MANAGEMENT_MAX - sizeof(struct management_message))
int margay_call(struct margay *m, enum management_request what, const void *data, size_t n,
		char **answer, size_t *size);
/* Where such data may lie, so that they are not copied. Another request takes the place. */
char *margay_place(struct margay *m);

/*
 * All lines that answer a request, in as many requests as it takes: 0 and *lines, for free(), or
 * the error number and *lines, why, for free(); or -1, and no *lines. What begins or ends meanwhile
 * may be there in part.
 */
int margay_lines(struct margay *m, enum management_request what, const char *text, char **lines);

/*
 * Sends what is in a file as an image of that name; what the node has already is not sent. As
 * margay_call().
 */
int margay_put_image(struct margay *m, const char *name, int fd, char **answer);

/* The same with more to say of it. */
struct margay_image {
	const char *name;
	/* size and sha256 are given: it is read once, and no copy of a pipe is made */
	int known;
	int replace; /* the name may be another content's: VMs that are there keep that */
	/* before each piece that is sent; NULL: nobody wants to know */
	void (*progress)(unsigned long bytes, unsigned long size);
	/* Given, or what comes of it: */
	unsigned long size;
	char sha256[65];
	/* What comes of it: */
	int sent; /* 0: the node had its content */
};
/*
 * fd: a file, or a pipe, of which a copy is made in the directory for temporary files. errno
 * ENODATA: it has not the size that was given.
 */
int margay_send_image(struct margay *m, struct margay_image *image, int fd, char **answer);

/*
 * Writes the memory and registers of a VM that runs or is paused into an empty file that can be
 * read, too, as an ELF core; pages of zeros are holes. stops(), if given, is asked before each
 * piece whether it shall stop: -1 then, errno EINTR. As margay_call().
 */
int margay_dump(struct margay *m, const char *vm, int fd, int (*stops)(void), char **answer);

/*
 * The value of `key` in the line `text` points into, as far as its end, into value[]; false: it is
 * not there.
 */
int margay_value(const char *text, const char *key, char *value, size_t size);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Images to the node (libmargay.h): read twice, for what it has already is not sent, unless their
 * hash is known; then the node alone hashes them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <margay/host_sha256.h>

#include "libmargay.h"
#include "vmm/management/sha256.h"

static ssize_t next_piece(int fd, char *to)
{
	size_t n = 0;

	while (n < MARGAY_DATA_MAX) {
		ssize_t got = read(fd, to + n, MARGAY_DATA_MAX - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (!got)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

static int write_all(int fd, const char *data, size_t n)
{
	while (n) {
		ssize_t put = write(fd, data, n);

		if (put < 0 && errno != EINTR)
			return -1;
		data += put > 0 ? put : 0;
		n -= put > 0 ? (size_t)put : 0;
	}
	return 0;
}

/* Size and hash of all of it; into *copy, if that is a file. piece: room for one. */
static int measure(int fd, FILE *copy, char *piece, struct margay_image *image)
{
	struct sha256 sha;
	u8 hash[32];
	ssize_t n;

	sha256_begin(&sha, host_sha256());
	while ((n = next_piece(fd, piece)) > 0) {
		sha256_add(&sha, (const u8 *)piece, (u64)n);
		if (copy && write_all(fileno(copy), piece, (size_t)n))
			return -1;
	}
	if (n < 0)
		return -1;
	image->size = (unsigned long)sha.bytes;
	sha256_end(&sha, hash);
	for (unsigned i = 0; i < sizeof(hash); i++)
		snprintf(image->sha256 + 2 * i, 3, "%02x", hash[i]);
	return 0;
}

static int send_pieces(struct margay *m, struct margay_image *image, int fd, char **answer)
{
	char *piece = margay_place(m);
	unsigned long at = 0;
	int err = 0;
	ssize_t n;

	for (; !err && (n = next_piece(fd, piece)) > 0; at += (unsigned long)n) {
		if ((unsigned long)n > image->size - at)
			break;
		if (image->progress)
			image->progress(at, image->size);
		err = margay_call(m, MANAGEMENT_DATA, piece, (size_t)n, answer, NULL);
	}
	if (!err && n < 0)
		return -1;
	if (!err && (n || at != image->size)) {
		errno = ENODATA;
		return -1;
	}
	if (!err && image->progress)
		image->progress(at, image->size);
	return err ? err : margay_call(m, MANAGEMENT_IMAGE_END, "", 0, answer, NULL);
}

static int send_file(struct margay *m, struct margay_image *image, int fd, char **answer)
{
	char text[200], have[4] = "";
	int n, err;

	n = snprintf(text, sizeof(text), "%.100s %lu %s%s", image->name, image->size, image->sha256,
		     image->replace ? " replace" : "");
	err = margay_call(m, MANAGEMENT_IMAGE, text, (size_t)n, answer, NULL);
	if (err)
		return err;
	image->sent =
		!margay_value(*answer, "have", have, sizeof(have)) || strcmp(have, "yes") != 0;
	return image->sent ? send_pieces(m, image, fd, answer) : 0;
}

/* All of it goes by one port. */
static int send_held(struct margay *m, struct margay_image *image, int fd, char **answer)
{
	return margay_hold(m, 1) ? -1 : send_file(m, image, fd, answer);
}

/* Finds out what it is first. */
static int measure_and_send(struct margay *m, struct margay_image *image, int fd, char **answer)
{
	FILE *copy = lseek(fd, 0, SEEK_SET) < 0 ? tmpfile() : NULL;
	int err = -1, why;

	if ((copy || lseek(fd, 0, SEEK_SET) >= 0) && !measure(fd, copy, margay_place(m), image)) {
		int from = copy ? fileno(copy) : fd;

		if (lseek(from, 0, SEEK_SET) >= 0)
			err = send_held(m, image, from, answer);
	}
	why = errno;
	if (copy)
		fclose(copy);
	errno = why;
	return err;
}

int margay_send_image(struct margay *m, struct margay_image *image, int fd, char **answer)
{
	int err = image->known ? send_held(m, image, fd, answer)
			       : measure_and_send(m, image, fd, answer);
	int why = errno;

	margay_hold(m, 0);
	errno = why;
	return err;
}

int margay_put_image(struct margay *m, const char *name, int fd, char **answer)
{
	struct margay_image image = { .name = name };

	return margay_send_image(m, &image, fd, answer);
}

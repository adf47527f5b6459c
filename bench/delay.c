/* A network of limited speed in user space: a switch between tap devices, one for each host, which holds every frame back
 * as a link of that rate and delay would. Not every kernel has the queue disciplines for that (netem).
 *
 *   bench_delay RATE DELAY DEVICE...     bits a second, seconds, names of the tap devices it makes
 *
 * Host i has a hardware address that ends in i, from 1 on. A host sends at most RATE; frames are delivered whole, DELAY
 * after their last bit was sent. Nothing is lost: where too much waits, the host is not read from. A network needs no
 * processor of the hosts, so this one takes it from whoever computes, where it may. Runs until it is killed.
 * bench/network.sh starts it, and moves the devices into network namespaces. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { MOST_HOSTS = 16, FRAME_BYTES = 65536, FRAMES = 1024 };

typedef struct frame {
    double due;
    int to; /* -1: all others */
    int bytes;
    unsigned char data[FRAME_BYTES];
} frame;

/* What a host has sent and is not delivered yet, in its order, which is also that of the due times. */
typedef struct host {
    int device;
    double free; /* when its link has sent what it was given */
    int64_t first, end;
    frame *queue; /* [FRAMES], a ring */
} host;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int open_tap(const char *name) {
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (device < 0 || ioctl(device, TUNSETIFF, &request) != 0) {
        fprintf(stderr, "bench_delay: cannot make the tap device %s: %s\n", name, strerror(errno));
        exit(1);
    }
    return device;
}

/* The last byte of the receiver's address; broadcasts go to all others. */
static int receiver_of(const frame *f, int hosts) {
    int last = f->data[5];
    bool one = !(f->data[0] & 1) && last >= 1 && last <= hosts;
    return one ? last - 1 : -1;
}

static void take(host *from, int hosts, double rate, double delay) {
    while (from->end - from->first < FRAMES) {
        frame *f = &from->queue[from->end % FRAMES];
        ssize_t bytes = read(from->device, f->data, sizeof f->data);
        if (bytes < 14) return;
        double time = now();
        if (from->free < time) from->free = time;
        from->free += 8.0 * (double)bytes / rate;
        f->due = from->free + delay;
        f->bytes = (int)bytes;
        f->to = receiver_of(f, hosts);
        from->end++;
    }
}

/* Delivers what is due; when the next one is, or `soonest`. */
static double deliver(host *host_of, int from, int hosts, double soonest) {
    host *h = &host_of[from];
    while (h->first < h->end) {
        const frame *f = &h->queue[h->first % FRAMES];
        if (f->due > now()) return f->due < soonest ? f->due : soonest;
        for (int i = 0; i < hosts; i++)
            if (i != from && (f->to == i || f->to < 0))
                (void)!write(host_of[i].device, f->data, (size_t)f->bytes);
        h->first++;
    }
    return soonest;
}

int main(int argc, char **argv) {
    static host host_of[MOST_HOSTS];
    struct pollfd wait[MOST_HOSTS];
    int hosts = argc - 3;
    double rate = argc > 1 ? atof(argv[1]) : 0, delay = argc > 2 ? atof(argv[2]) : -1;
    if (hosts < 2 || hosts > MOST_HOSTS || rate <= 0 || delay < 0) {
        fprintf(stderr, "usage: bench_delay RATE DELAY DEVICE DEVICE...\n");
        return 2;
    }
    for (int i = 0; i < hosts; i++) {
        host_of[i].device = open_tap(argv[3 + i]);
        host_of[i].queue = malloc(FRAMES * sizeof *host_of[i].queue);
        if (!host_of[i].queue) return 1;
    }
    prctl(PR_SET_TIMERSLACK, 1); /* ns */
    (void)!sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 10});
    for (;;) {
        double soonest = now() + 1;
        for (int i = 0; i < hosts; i++) {
            take(&host_of[i], hosts, rate, delay);
            bool room = host_of[i].end - host_of[i].first < FRAMES;
            wait[i] = (struct pollfd){.fd = host_of[i].device, .events = room ? POLLIN : 0};
        }
        for (int i = 0; i < hosts; i++) soonest = deliver(host_of, i, hosts, soonest);
        double left = soonest - now();
        if (left <= 0) continue;
        struct timespec time = {.tv_sec = (time_t)left,
                                .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
        ppoll(wait, (nfds_t)hosts, &time, NULL);
    }
}

/* Remembers what every write to the log replaced, until the file is synced. A test that kills the process can then
 * take back whatever a power cut would have lost. Preloaded into the server by `tests/kill.rs`; never shipped. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sidecar = -1;
static const char *watched;

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off_t);

__attribute__((constructor)) static void start(void) {
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate");
    watched = getenv("UNSYNCED_DIR");
    const char *path = getenv("UNSYNCED_LOG");
    if (watched && path) sidecar = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
}

/* The path of a file below the watched folder; 0 for everything else. */
static int path_of(int fd, char *path) {
    char link[64] = "/proc/self/fd/";
    char digits[16];
    int n = 0;
    if (sidecar < 0 || fd < 0) return 0;
    do { digits[n++] = (char)('0' + fd % 10); fd /= 10; } while (fd);
    size_t at = strlen(link);
    while (n) link[at++] = digits[--n];
    link[at] = 0;
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return strncmp(path, watched, strlen(watched)) == 0 && !strstr(path, "-shm") && !strstr(path, "owner");
}

static void record(char op, const char *path, uint64_t offset, uint64_t size, const void *old, uint32_t length) {
    uint32_t path_length = (uint32_t)strlen(path);
    size_t total = 1 + 4 + path_length + 8 + 8 + 4 + length;
    char *bytes = malloc(total), *at = bytes;
    if (!bytes) abort();
    *at++ = op;
    memcpy(at, &path_length, 4); at += 4;
    memcpy(at, path, path_length); at += path_length;
    memcpy(at, &offset, 8); at += 8;
    memcpy(at, &size, 8); at += 8;
    memcpy(at, &length, 4); at += 4;
    if (length) memcpy(at, old, length);
    if (real_write(sidecar, bytes, total) != (ssize_t)total) abort();
    free(bytes);
}

/* Called before bytes [offset, offset + count) change. */
static void remember(int fd, off_t offset, size_t count) {
    char path[PATH_MAX];
    struct stat status;
    if (!path_of(fd, path) || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return;
    int reader = open(path, O_RDONLY | O_CLOEXEC);
    if (reader < 0) return;
    void *old = malloc(count ? count : 1);
    ssize_t length = pread(reader, old, count, offset);
    close(reader);
    record('W', path, (uint64_t)offset, (uint64_t)status.st_size, old, length > 0 ? (uint32_t)length : 0);
    free(old);
}

static void synced(int fd) {
    char path[PATH_MAX];
    if (path_of(fd, path)) record('S', path, 0, 0, 0, 0);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    pthread_mutex_lock(&lock);
    off_t at = sidecar >= 0 && fd != sidecar ? lseek(fd, 0, SEEK_CUR) : -1;
    if (at >= 0) remember(fd, at, count);
    ssize_t written = real_write(fd, bytes, count);
    pthread_mutex_unlock(&lock);
    return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    pthread_mutex_lock(&lock);
    remember(fd, offset, count);
    ssize_t written = real_pwrite(fd, bytes, count, offset);
    pthread_mutex_unlock(&lock);
    return written;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset) { return pwrite(fd, bytes, count, offset); }

int ftruncate(int fd, off_t size) {
    pthread_mutex_lock(&lock);
    struct stat status;
    if (fstat(fd, &status) == 0 && status.st_size > size) remember(fd, size, (size_t)(status.st_size - size));
    int result = real_ftruncate(fd, size);
    pthread_mutex_unlock(&lock);
    return result;
}

int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

int fsync(int fd) {
    int result = real_fsync(fd);
    pthread_mutex_lock(&lock);
    if (result == 0) synced(fd);
    pthread_mutex_unlock(&lock);
    return result;
}

int fdatasync(int fd) {
    int result = real_fdatasync(fd);
    pthread_mutex_lock(&lock);
    if (result == 0) synced(fd);
    pthread_mutex_unlock(&lock);
    return result;
}

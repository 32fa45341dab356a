// Package tokens authenticates users by tokens from a file, which can be read again while the program runs.
package tokens

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unicode/utf8"
)

// MaxUser bounds the name of a user in bytes. Stores take names of up to 1 KiB.
const MaxUser = 256

// minToken is the least length of a token in a file, in bytes.
const minToken = 16

// Table maps tokens to users. It has only hashes of the tokens. Its methods may be called concurrently.
type Table struct {
	path  string
	users atomic.Pointer[map[string]string] // by the hash of the token
}

// New returns a table for users by their tokens. It cannot be read again.
func New(users map[string]string) *Table {
	hashed := map[string]string{}
	for token, user := range users {
		hashed[hashOf(token)] = user
	}
	t := new(Table)
	t.users.Store(&hashed)
	return t
}

// Read reads a file in UTF-8 with a user and a token on each line. It skips empty lines and comments (#).
func Read(path string) (*Table, error) {
	t := &Table{path: path}
	_, err := t.Reload()
	return t, err
}

// Reload reads the file again, and returns the number of users. After an error the table is unchanged.
func (t *Table) Reload() (users int, err error) {
	file, err := os.Open(t.path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	hashed := map[string]string{}
	lines := bufio.NewScanner(file)
	n := 1
	for ; lines.Scan(); n++ {
		words := strings.Fields(strings.TrimPrefix(lines.Text(), "\ufeff")) // an editor may begin with the mark
		if !utf8.ValidString(lines.Text()) {
			return 0, fmt.Errorf("%s:%d: the file is not in UTF-8", t.path, n)
		}
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 2 {
			return 0, fmt.Errorf("%s:%d: want two words, a user and a token, and got %d", t.path, n, len(words))
		}
		if len(words[1]) < minToken || len(words[0]) > MaxUser {
			return 0, fmt.Errorf("%s:%d: want a user of at most %d bytes and a token of at least %d",
				t.path, n, MaxUser, minToken)
		}
		hash := hashOf(words[1])
		if user := hashed[hash]; user != "" && user != words[0] {
			return 0, fmt.Errorf("%s:%d: two users have the same token", t.path, n)
		}
		hashed[hash] = words[0]
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("%s:%d: %w", t.path, n, err)
	}
	if len(hashed) == 0 {
		return 0, fmt.Errorf("%s names no user: want a user and a token on each line", t.path)
	}
	t.users.Store(&hashed)
	return len(slices.Compact(slices.Sorted(maps.Values(hashed)))), nil
}

// Find returns the user of a token, and its hash for [Table.Holds]. It compares hashes, so that its
// duration reveals nothing about other tokens.
func (t *Table) Find(token string) (user, hash string, ok bool) {
	hash = hashOf(token)
	user, ok = (*t.users.Load())[hash]
	return user, hash, ok
}

// Holds reports whether the token with a hash still belongs to the user.
func (t *Table) Holds(user, hash string) bool { return (*t.users.Load())[hash] == user && user != "" }

// hashOf returns the hash by which a table knows a token.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// OnHangup calls reload at each SIGHUP, until stop is called, and logs its outcome. reload is nil
// if there is no file. stop waits for a call in progress.
func OnHangup(logger *slog.Logger, reload func() (int, error)) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	var work sync.WaitGroup
	work.Go(func() {
		for range hangups {
			if reload == nil {
				logger.Info("SIGHUP: there is no file of users to read again")
			} else if n, err := reload(); err != nil {
				logger.Error("the users stay as they were", "error", err)
			} else {
				logger.Info("the users are read again", "users", n)
			}
		}
	})
	return func() {
		signal.Stop(hangups)
		close(hangups)
		work.Wait()
	}
}

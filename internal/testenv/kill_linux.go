package testenv

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// KillChildren kills the descendants of this process with a word in their command lines, waits until their parents know
// that they have ended, and returns how many there were. Processes of other tests are left alone.
func KillChildren(t testing.TB, word string) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var killed []string
	for _, dir := range all {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if err == nil && bytes.Contains(line, []byte(word)) && isDescendant(pid) && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed = append(killed, dir)
		}
	}
	for _, dir := range killed {
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(dir); err != nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("nobody waits for %s, which was killed", dir)
			}
		}
	}
	return len(killed)
}

// isDescendant reports whether this process started a process, directly or through others.
func isDescendant(pid int) bool {
	for pid > 1 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		var state string
		if _, err := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &pid); err != nil {
			return false
		}
		if pid == os.Getpid() {
			return true
		}
	}
	return false
}

package proctest

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
)

// TestMain makes the test binary a process that waits for the end of its input.
func TestMain(m *testing.M) {
	if os.Getenv("PROCTEST_WAIT") != "" {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestRuns(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROCTEST_WAIT=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if !Runs(os.Getpid()) || !Runs(pid) {
		t.Error("got false for a process that runs")
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if Runs(pid) {
		t.Error("got true for a process that has ended")
	}
}

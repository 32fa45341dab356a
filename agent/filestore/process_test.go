package filestore_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// TestMain lets the test binary be a process that works on the run in a directory.
func TestMain(m *testing.M) {
	work := map[string]func(record.Store) error{"append": appendForEver, "share": appendWithOthers}[os.Getenv("FILESTORE_WORK")]
	if work == nil {
		os.Exit(m.Run())
	}
	s, err := filestore.Open(os.Getenv("FILESTORE_DIR"), nil)
	if err == nil {
		err = work(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func start(t *testing.T, work, dir string) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FILESTORE_WORK="+work, "FILESTORE_DIR="+dir)
	cmd.Stderr = os.Stderr
	out := check.Value(cmd.StdoutPipe())(t)
	check.Must(t, cmd.Start())
	return cmd, out
}

func takeOver(s record.Store) (*cast, *record.Log, error) {
	c := new(cast)
	if err := c.acquire(s); err != nil {
		return nil, nil, err
	}
	log, err := s.Load(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	c.draft = ledgertest.Of(log.Records)
	return c, log, nil
}

// textOf returns the note of a record. Some are larger than what a disk writes at once.
func textOf(seq uint64) string { return fmt.Sprint(seq, strings.Repeat("x", int(seq%5)*4000)) }

// appendForEver appends records and replies, and prints what the store has accepted.
func appendForEver(s record.Store) error {
	c, log, err := takeOver(s)
	if err != nil {
		return err
	}
	for {
		var changes []ledger.Change
		for _, a := range log.Replies {
			changes = append(changes, &ledger.Replied{Reply: a})
		}
		seq := log.Head.Seq + uint64(len(changes)) + 1
		q := fmt.Sprint("q", seq)
		if err := c.append(s, append(changes, note(textOf(seq)), question(q))...); err != nil {
			return err
		}
		fmt.Println("record", seq+1)
		if err := s.Reply(ctx, key, []run.Reply{{Question: q, Action: run.ActionAccept}}); err != nil {
			return err
		}
		fmt.Println("answer", q)
		if log, err = s.Load(ctx, key); err != nil {
			return err
		}
	}
}

// TestKill kills a process that appends, 50 times. The run has what the process reported, and is never damaged.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	create(t, s, key)
	for i := 0; i < 50; i += testenv.Step(1) {
		cmd, out := start(t, "append", dir)
		var seq uint64
		var q string
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if n == i%8 {
				check.Must(t, cmd.Process.Kill())
			}
			_, _ = fmt.Sscanf(lines.Text(), "record %d", &seq)
			_, _ = fmt.Sscanf(lines.Text(), "answer %s", &q)
		}
		_ = cmd.Wait()
		has(t, s, seq, q)
	}
}

// has checks that the run has a record, and the reply to a question.
func has(t *testing.T, s record.Store, seq uint64, q string) {
	t.Helper()
	log, err := s.Load(ctx, key)
	check.Must(t, err)
	check.Require(t, seq != 0 && log.Head.Seq >= seq, "got %d records, want %d", log.Head.Seq, seq)
	for _, r := range log.Records {
		if n, ok := ledger.ChangeOf(r).(*ledger.Noted); ok && string(n.Vars["text"]) != `"`+textOf(r.Seq)+`"` {
			t.Fatalf("got the note %.40q in record %d", n.Vars["text"], r.Seq)
		}
	}
	err = s.Reply(ctx, key, []run.Reply{{Question: q, Action: run.ActionDecline}})
	check.Require(t, q == "" || errors.Is(err, record.ErrReplied), "got %v for another answer to %s, want %v", err, q, record.ErrReplied)
}

const shares = 25 // records of each process

// appendWithOthers acquires the run, as other processes do, until it has appended its records.
// After a conflict it waits for a random time, so that processes do not only take turns.
func appendWithOthers(s record.Store) error {
	for done := 0; done < shares; {
		c, _, err := takeOver(s)
		if err != nil {
			return err
		}
		switch err := c.append(s, note("x")); {
		case err == nil:
			done++
		case !errors.Is(err, record.ErrConflict):
			return err
		default:
			time.Sleep(rand.N(200 * time.Millisecond))
		}
	}
	return nil
}

// TestProcesses lets four processes append to one run.
func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	create(t, s, key)
	var all []*exec.Cmd
	for range 4 {
		cmd, _ := start(t, "share", dir)
		all = append(all, cmd)
	}
	for _, cmd := range all {
		check.NoError(t, cmd.Wait())
	}
	check.Equal(t, "records", fold(t, s).Seq, uint64(1+len(all)*shares))
}

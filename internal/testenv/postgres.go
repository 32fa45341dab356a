package testenv

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// ErrNoPostgres is the error of StartPostgres on a machine without Postgres's programs.
var ErrNoPostgres = errors.New("no Postgres server on this machine")

// Postgres is a running Postgres server with its own data, on a Unix socket.
type Postgres struct {
	folder string // folder with its socket
	in     io.WriteCloser
	out    *bufio.Reader
	cmd    *exec.Cmd
}

// postgresScript makes a cluster in its folder, runs a server there until its input ends, and removes the cluster. The
// input also ends when the process is killed. A line of the input stops the server for that number of seconds.
const postgresScript = `
initdb -D "$1/data" -U test -A trust -E UTF8 --locale=C.UTF-8 --no-sync >"$1/log" 2>&1 || exit
begin() { pg_ctl -D "$1/data" -l "$1/log" -w -o "-k $1 -c listen_addresses=''" start >>"$1/log" 2>&1 || exit; echo ready; }
begin "$1"
while read down; do
	pg_ctl -D "$1/data" -m fast stop >>"$1/log" 2>&1; sleep "$down"; begin "$1"
done
pg_ctl -D "$1/data" -m immediate stop >/dev/null 2>&1
rm -rf "$1/data"
`

// StartPostgres starts a server. It does not outlive the process.
func StartPostgres() (_ *Postgres, err error) {
	path, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	s := new(Postgres)
	if s.folder, err = os.MkdirTemp("", "pg"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(s.folder)
		}
	}()
	s.cmd = exec.Command("sh", "-c", postgresScript, "sh", s.folder)
	s.cmd.Dir, s.cmd.Env = s.folder, append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"), "LC_ALL=C")
	if err := runUnprivileged(s.cmd, s.folder); err != nil {
		return nil, err
	}
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if err := s.ready(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Postgres) ready() error {
	if line, _ := s.out.ReadString('\n'); line != "ready\n" {
		log, _ := os.ReadFile(filepath.Join(s.folder, "log"))
		return fmt.Errorf("start Postgres: %s", log)
	}
	return nil
}

// Restart stops the server and starts it again after some seconds.
func (s *Postgres) Restart(down int) error {
	if _, err := fmt.Fprintln(s.in, down); err != nil {
		return err
	}
	return s.ready()
}

// DSN returns the address of a database of the server, which has the database postgres.
func (s *Postgres) DSN(database string) string {
	return fmt.Sprintf("host=%s user=test dbname=%s", s.folder, database)
}

// Stop stops the server and removes its data.
func (s *Postgres) Stop() {
	_ = s.in.Close()
	_, _ = io.Copy(io.Discard, s.out)
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.folder)
}

// postgresPrograms returns the folder of Postgres's programs, which Debian keeps out of the path.
func postgresPrograms() (string, error) {
	initdb, err := exec.LookPath("initdb")
	if err == nil {
		return filepath.Dir(initdb), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", fmt.Errorf("%w: %w", ErrNoPostgres, err)
	}
	return filepath.Dir(newest(found)), nil
}

// newest returns the path with the highest version, such as 9.6 or 16, as the folder above its last two elements.
func newest(paths []string) string {
	return slices.MaxFunc(paths, func(a, b string) int { return cmp.Compare(version(a), version(b)) })
}

func version(path string) float64 {
	v, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(path))), 64)
	return v
}

//go:build unix

package sqlstore_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/agent/storetest"
)

func TestMain(m *testing.M) {
	if job := os.Getenv(childJob); job != "" {
		child(job)
		return
	}
	code := m.Run()
	server.stop()
	os.Exit(code)
}

// server is the Postgres of the tests, once one has asked for it.
var server postgres

type postgres struct {
	once   sync.Once
	folder string // with its socket
	none   error  // why there is no server
	end    func()

	schemas atomic.Int64
}

// script makes a cluster in its folder, runs a server there until the end of its input, as
// also comes when the test is killed, and removes the cluster.
const script = `
initdb -D "$1/data" -U test -A trust -E UTF8 --locale=C.UTF-8 --no-sync >"$1/log" 2>&1 &&
pg_ctl -D "$1/data" -l "$1/log" -w -o "-k $1 -c listen_addresses=''" start >>"$1/log" 2>&1 && echo ready
cat >/dev/null
pg_ctl -D "$1/data" -m immediate stop >/dev/null 2>&1
rm -rf "$1/data"
`

// dsn starts the server and names a schema of its own for each call.
func (p *postgres) dsn(t testing.TB) string {
	t.Helper()
	p.once.Do(func() { p.none = p.start() })
	switch {
	case p.none == nil:
	case errors.Is(p.none, exec.ErrNotFound) && os.Getenv("CI") == "":
		t.Skipf("no Postgres server on this machine: %v", p.none)
	default:
		t.Fatal(p.none)
	}
	schema := fmt.Sprintf("s%d", p.schemas.Add(1))
	admin, err := sql.Open("pgx", p.database("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	if _, err := admin.ExecContext(t.Context(), "CREATE SCHEMA "+schema); err != nil {
		t.Fatal(err)
	}
	return p.database("postgres") + " search_path=" + schema
}

func (p *postgres) database(name string) string {
	return fmt.Sprintf("host=%s user=test dbname=%s", p.folder, name)
}

func (p *postgres) start() error {
	path, err := programs()
	if err != nil {
		return err
	}
	if p.folder, err = os.MkdirTemp("", "pg"); err != nil {
		return err
	}
	cmd := exec.Command("sh", "-c", script, "sh", p.folder)
	cmd.Dir, cmd.Env = p.folder, append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"), "LC_ALL=C")
	if err := unprivileged(cmd, p.folder); err != nil {
		return err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.end = func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		_ = os.RemoveAll(p.folder)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		log, _ := os.ReadFile(filepath.Join(p.folder, "log"))
		return fmt.Errorf("Postgres does not start: %s", log)
	}
	return nil
}

func (p *postgres) stop() {
	if p.end != nil {
		p.end()
	}
}

// programs is the folder of Postgres's programs. Debian keeps them out of the path.
func programs() (string, error) {
	initdb, err := exec.LookPath("initdb")
	if err == nil {
		return filepath.Dir(initdb), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", err
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1]), nil
}

// unprivileged has root run a program as another user: Postgres refuses root.
func unprivileged(cmd *exec.Cmd, folder string) error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return err
		}
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err := errors.Join(err1, err2, os.Chown(folder, uid, gid)); err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return nil
}

func TestPostgres(t *testing.T) {
	storetest.Run(t, func(t *testing.T) run.Store {
		store, _ := opened(t, "pgx", server.dsn(t), sqlstore.Postgres)
		return store
	})
}

func TestPostgresReopen(t *testing.T) {
	dsn := server.dsn(t)
	storetest.Reopen(t, func(t *testing.T) (run.Store, func()) {
		store, db := opened(t, "pgx", dsn, sqlstore.Postgres)
		return store, func() { _ = db.Close() }
	})
}

// TestPostgresInAnotherOrder has a database that orders texts as people do.
func TestPostgresInAnotherOrder(t *testing.T) {
	_, db := opened(t, "pgx", server.dsn(t), sqlstore.Postgres)
	execute(t, db, `CREATE DATABASE words TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'`)
	store, _ := opened(t, "pgx", server.database("words"), sqlstore.Postgres)
	store.PageBy(2)
	for _, id := range []string{"a", "B", "C", "b"} {
		create(t, store, run.Key{ID: id})
	}
	var got []string
	for head, err := range store.List(t.Context(), run.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, head.Key.ID)
	}
	if want := "B C a b"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPostgresClock has a server whose clock is an hour ahead: leases go by it.
func TestPostgresClock(t *testing.T) {
	store, db := opened(t, "pgx", server.dsn(t)+",pg_catalog", sqlstore.Postgres)
	execute(t, db, `CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT pg_catalog.clock_timestamp() + interval '1 hour' $$`)
	d, lease := create(t, store, key)
	if err := store.Renew(t.Context(), lease, time.Minute); err != nil {
		t.Fatal(err)
	}
	log, err := store.Load(t.Context(), key)
	if err != nil || !log.Head.Held.After(time.Now().Add(time.Hour)) {
		t.Fatalf("got %+v, %v, want a run that is held for more than an hour", log, err)
	}
	if _, err := store.Acquire(t.Context(), key, run.Holder{}); !errors.Is(err, run.ErrHeld) {
		t.Errorf("got %v, want %v", err, run.ErrHeld)
	}
	execute(t, db, `DROP FUNCTION clock_timestamp`, `UPDATE mcpchain_runs SET held = held - 3600000000000 - 60000000000`)
	if lease, err = store.Acquire(t.Context(), key, run.Holder{}); err != nil {
		t.Fatal(err)
	}
	if err := d.append(t.Context(), store, lease, "x", 1); err != nil {
		t.Fatal(err)
	}
}

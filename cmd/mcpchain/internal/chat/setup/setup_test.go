package setup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/setup"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/typist"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

const project = `{"mcpServers": {
	"files": {"command": "files-server", "args": ["${HOME}", "two words\u001b[2J", "--api-key=sk-1", "--token", "sk-2",
		"-ccredential.helper=!x", "-e", "MY_TOKEN=sk-6", "--header", "Authorization: Bearer sk-7", "--header=X-Key: sk-8", "--env=B_KEY=sk-9", "-H", "Authorization:Bearer sk-10", "auth.example/files:1"],
		"cwd": "/srv", "env": {"LD_PRELOAD": "x", "API_KEY": "sk-3${KEY}"}},
	"remote": {"url": "https://u:sk-4@example.com/mcp?key=${KEY}&api_key=sk-5", "headers": {"X-Key": "Bearer ${KEY}"}},
	"off": {"command": "x", "disabled": true}}}`

func places(t *testing.T) *setup.Places {
	dir := t.TempDir()
	return &setup.Places{
		Project: filepath.Join(dir, "mcp.json"), User: filepath.Join(dir, "user", "mcp.json"), Trust: filepath.Join(dir, "trusted"),
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	check.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	check.Must(t, os.WriteFile(path, []byte(text), 0o600))
}

// A project's file is used after the person has allowed it, until it changes.
func TestTrust(t *testing.T) {
	p := places(t)
	write(t, p.Project, project)
	find := func(s *typist.Screen, want string) {
		t.Helper()
		got, err := p.Find(t.Context(), s)
		check.That(t, err == nil && (got == nil) == (want == "") && (got == nil || got.Path == want), "got %v, %v, want %q; the screen:\n%s", got, err, want, s.Text())
	}
	s := typist.New(t, "no")
	find(s, "")
	s.Check(t, "The file "+p.Project+` belongs to this folder. It names:
  files: starts files-server ${HOME} "two words\x1b[2J" --api-key=… --token … -ccredential.helper=!x -e MY_TOKEN=… --header "Authorization: …" "--header=X-Key: …" --env=B_KEY=… -H Authorization:… auth.example/files:1
    in the folder /srv
    with LD_PRELOAD=x
    with API_KEY=…${KEY}
  remote: calls https://…@example.com/mcp?key=${KEY}&api_key=…
    with the header X-Key: …${KEY}
Use these servers? A program that is started can do whatever you can. [y]es, as long as the file stays as it is, [o]nce, [n]o: `+
		"servers: none; "+p.Project+" is not used\n")
	find(typist.New(t, "o"), p.Project)
	find(typist.New(t, "y"), p.Project)
	for range 2 {
		s := typist.New(t)
		find(s, p.Project)
		s.Check(t, "servers: by "+p.Project+"\n")
	}
	write(t, p.Project, strings.Replace(project, "files-server", "other-server", 1))
	s = typist.New(t, "n")
	find(s, "")
	check.That(t, strings.Contains(s.Text(), "has changed since you allowed it") && strings.Contains(s.Text(), "starts other-server"),
		"got %s, want the change", s.Text())
	write(t, p.User, "{}")
	find(typist.New(t, "n"), p.User)
}

// A changed environment file is asked about, too.
func TestTrustEnvironmentFile(t *testing.T) {
	p := places(t)
	env := filepath.Join(filepath.Dir(p.Project), ".env.mcp")
	write(t, p.Project, `{"mcpServers": {"files": {"command": "node", "args": ["server.js"], "envFile": "${workspaceFolder}/.env.mcp"}}}`)
	write(t, env, "# for node\nexport NODE_OPTIONS=--require ./a.js\nTOKEN=hunter2\nAUTH=Bearer sk-1\nGIT_AUTH=./a.sh\n")
	s := typist.New(t, "y")
	file, err := p.Find(t.Context(), s)
	check.Require(t, err == nil && file != nil, "%v %v", file, err)
	if want := "  files: starts node server.js\n    with the variables of the file ${workspaceFolder}/.env.mcp\n  The environment file " + env +
		":\n    NODE_OPTIONS=--require ./a.js\n    TOKEN=…\n    AUTH=…\n    GIT_AUTH=./a.sh\n"; !strings.Contains(s.Text(), want) {
		t.Errorf("got %s, want %s", s.Text(), want)
	}
	write(t, env, "NODE_OPTIONS=--require ./evil.js\n")
	cfg := check.Value(file.Read(t.Context(), s))(t)
	check.Must(t, cfg[0].Err)
	got := cfg[0].Transport.(*mcpclient.Command).Env
	check.That(t, len(got) == 4 && got[0] == "NODE_OPTIONS=--require ./a.js", "got %q, want what was allowed", got)
	s = typist.New(t, "n")
	file, err = p.Find(t.Context(), s)
	check.That(t, err == nil && file == nil && strings.Contains(s.Text(), "./evil.js"), "got %v, %v, want a question about the change:\n%s", file, err, s.Text())
}

// changing is a screen that changes the file before it returns an answer.
type changing struct {
	*typist.Screen
	change func()
}

func (c changing) Choose(ctx context.Context, q *screen.Choice) (byte, error) {
	c.change()
	return c.Screen.Choose(ctx, q)
}

// The content that the person has allowed is used, even if the file changes meanwhile.
func TestFileThatChangesMeanwhile(t *testing.T) {
	p := places(t)
	write(t, p.Project, project)
	s := changing{typist.New(t, "y"), func() { write(t, p.Project, strings.ReplaceAll(project, "files-server", "evil")) }}
	t.Setenv("KEY", "k")
	file, err := p.Find(t.Context(), s)
	check.Require(t, err == nil && file != nil, "%v %v", file, err)
	cfg := check.Value(file.Read(t.Context(), s))(t)
	check.Equal(t, "what was allowed", cfg[0].Transport.(*mcpclient.Command).Path, "files-server")
	again := typist.New(t, "n")
	if file, err := p.Find(t.Context(), again); err != nil || file != nil || !strings.Contains(again.Text(), "starts evil") {
		t.Errorf("got %v, %v, want a question about the change:\n%s", file, err, again.Text())
	}
}

// A list that is too long to be shown cannot be allowed.
func TestTrustOfALongList(t *testing.T) {
	for name, argument := range map[string]string{"characters": strings.Repeat("x", 5000), "a line": "x"} {
		p := places(t)
		var servers []string
		for i := range 60 {
			servers = append(servers, fmt.Sprintf(`"s%d": {"command": "sh", "cwd": "/", "args": [%q]}`, i, argument))
			if name == "characters" {
				break
			}
		}
		write(t, p.Project, `{"mcpServers": {`+strings.Join(servers, ",")+`}}`)
		s := typist.New(t, "y")
		file, err := p.Find(t.Context(), s)
		check.That(t, err == nil && file == nil && strings.Contains(s.Text(), "names more than can be shown here") && strings.HasSuffix(s.Text(), "servers: none; "+p.Project+" is not used\n"),
			"%s: got %v, %v, want no question:\n%s", name, file, err, s.Text())
	}
}

// Without a person, a project's file is an error.
func TestTrustWithoutAPerson(t *testing.T) {
	p := places(t)
	write(t, p.Project, project)
	check.Text(t, check.Err(p.Find(t.Context(), typist.Absent(t))), "names servers that you have not allowed yet")
	write(t, p.Project, `{"mcpServers": {}}`)
	got, err := p.Find(t.Context(), typist.Absent(t))
	check.That(t, err == nil && got != nil && got.Path == p.Project, "got %v, %v, want the file without servers", got, err)
}

// A file that cannot be used is an error, without a question.
func TestWrongProjectFile(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(path string) error
		want string
	}{
		"no JSON":   {func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) }, "mcp.json:1: "},
		"folder":    {func(path string) error { return os.Mkdir(path, 0o700) }, "is not a file"},
		"too large": {func(path string) error { return os.WriteFile(path, make([]byte, 1<<20+1), 0o600) }, "has more than 1048576 bytes"},
	} {
		p := places(t)
		check.Must(t, tt.make(p.Project))
		_, err := p.Find(t.Context(), typist.New(t))
		wrong, ok := errors.AsType[*cli.FileError](err)
		check.That(t, ok && strings.Contains(wrong.Error(), tt.want), "%s: got %v, want %q", name, err, tt.want)
	}
}

const withInputs = `{
	"inputs": [
		{"type": "promptString", "id": "key", "description": "The \u001b[2Jkey", "password": true},
		{"type": "pickString", "id": "place", "default": "b", "options": ["a", {"label": "Bee", "value": "b"}]}],
	"servers": {"one": {"url": "https://${input:place}.example/", "headers": {"Authorization": "Bearer ${input:key}"}, "timeout": "9s", "excludeTools": ["x"]}}}`

func TestInputs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, withInputs)
	s := typist.New(t, "1", "hunter2")
	cfg := check.Value((&setup.File{Path: path}).Read(t.Context(), s))(t)
	check.Must(t, cfg[0].Err)
	h := cfg[0].Transport.(*mcpclient.HTTP)
	check.Equal(t, "both answers", h.URL+" "+h.Header.Get("Authorization"), "https://a.example/ Bearer hunter2")
	s.Check(t, "  1) a\n  2) Bee\nplace [Bee]: The \\x1b[2Jkey: \n")
	cfg = check.Value((&setup.File{Path: path}).Read(t.Context(), typist.Absent(t)))(t)
	check.Text(t, cfg[0].Err, "there is no terminal to ask on; use an environment variable instead")
}

package config_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func load(path string) ([]config.Server, error) {
	return new(config.Loader).Load(context.Background(), path)
}

func read(t *testing.T, name, text string) []config.Server {
	t.Helper()
	return check.Value(new(config.Loader).LoadData(t.Context(), name, []byte(text)))(t)
}

// mistakes returns the errors of all servers, in order, nil if all can be used.
func mistakes(cfg []config.Server) error {
	var errs []error
	for _, s := range cfg {
		errs = append(errs, s.Err)
	}
	return errors.Join(errs...)
}

func TestErrors(t *testing.T) {
	archive := check.Value(txtar.ParseFile(filepath.Join("testdata", "errors.txtar")))(t)
	check.Require(t, len(archive.Files)%2 == 0, "got %d files, want pairs", len(archive.Files))
	t.Setenv("TOKEN", "hunter2")
	for i := 0; i < len(archive.Files); i += 2 {
		file, want := archive.Files[i], archive.Files[i+1]
		t.Run(strings.TrimSuffix(file.Name, ".json"), func(t *testing.T) {
			cfg, err := new(config.Loader).LoadData(t.Context(), file.Name, file.Data)
			if strings.HasSuffix(want.Name, ".server") {
				check.Require(t, err == nil, "got the error %v of the file, want one of a server", err)
				err = mistakes(cfg)
			}
			check.Require(t, err != nil, "got no error")
			check.Same(t, "", err.Error(), strings.TrimSpace(string(want.Data)))
			check.That(t, !strings.Contains(err.Error(), "hunter2"), "the error shows a value")
		})
	}
}

func TestShapes(t *testing.T) {
	t.Setenv("TOKEN", "s3cret")
	t.Setenv("HOME", "/home/ann")
	t.Setenv("EMPTY", "")
	project, err := filepath.Abs("/project") // with a drive on Windows
	check.Must(t, err)
	for name, tt := range map[string]struct {
		text string
		want []config.Server
	}{
		"claude desktop": {
			`{"globalShortcut": "Ctrl+Space", "mcpServers": {
				"b": {"command": "npx", "args": ["-y", "${HOME}/server"], "env": {"KEY": "${TOKEN}", "PORT": 80}},
				"a": {"command": "a", "disabled": true, "args": ["${MISSING}"]}}}`,
			[]config.Server{
				{Name: "b", Transport: &mcpclient.Command{
					Path: "npx", Args: []string{"-y", "/home/ann/server"}, Env: []string{"KEY=s3cret", "PORT=80"}}},
				{Name: "a", Disabled: true},
			},
		},
		"vs code": {
			"\ufeff// workspace servers\n" + `{
				"inputs": [], /* none */
				"servers": {
					"remote": {"type": "http", "url": "https://example.com/${env:TOKEN}", "headers": {"x-a": "b",},},
					"local": {"type": "stdio", "command": "${workspaceFolder}/run", "cwd": "${userHome}", "dev": {"watch": "*"}},
				},
			}`,
			[]config.Server{
				{Name: "remote", Transport: &mcpclient.HTTP{URL: "https://example.com/s3cret", Header: http.Header{"X-A": {"b"}}}},
				{Name: "local", Transport: &mcpclient.Command{Path: project + "/run", Dir: "/home/ann"}},
			},
		},
		"cursor": {
			`{"mcpServers": {"r": {"url": "http://localhost:1/", "type": "streamable-http"}}}`,
			[]config.Server{{Name: "r", Transport: &mcpclient.HTTP{URL: "http://localhost:1/"}}},
		},
		"defaults": {
			`{"mcpServers": {"r": {"command": "${MISSING:-a}${EMPTY:-b}${EMPTY}${TOKEN:-c}${MISSING:-}",
				"args": ["$${TOKEN}", "$$", "$5", "${env:MISSING:-d e}", "${workspaceFolderBasename}"], "oauth": null}}}`,
			[]config.Server{{Name: "r", Transport: &mcpclient.Command{
				Path: "abs3cret", Args: []string{"${TOKEN}", "$$", "$5", "d e", "project"}}}},
		},
		"revisions": {
			`{"mcpServers": {"a": {"command": "a", "revision": "2025-11-25"}, "b": {"command": "b", "revision": "${REVISION:-}"},
				"c": {"command": "c", "revision": "2031", "disabled": true}}}`,
			[]config.Server{
				{Name: "a", Transport: &mcpclient.Command{Path: "a"}, Revision: mcp.Revision20251125},
				{Name: "b", Transport: &mcpclient.Command{Path: "b"}},
				{Name: "c", Disabled: true},
			},
		},
		"types of remote servers": {
			`{"servers": {"a": {"type": "sse", "url": "https://example.com/sse", "headers": {"X-Key": "k"}}, "b": {"url": "https://example.com/mcp"}}}`,
			[]config.Server{
				{Name: "a", Transport: &mcpclient.HTTP{URL: "https://example.com/sse", SSE: true, Header: http.Header{"X-Key": {"k"}}}},
				{Name: "b", Transport: &mcpclient.HTTP{URL: "https://example.com/mcp"}},
			},
		},
		"none": {`{"mcpServers": {}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(t, "/project/.vscode/mcp.json", tt.text)
			check.NoError(t, mistakes(got))
			check.Same(t, "", got, tt.want, cmpopts.IgnoreUnexported(config.Server{}))
		})
	}
}

// A mistake in one server does not affect the others.
func TestServersOfTheirOwn(t *testing.T) {
	cfg := read(t, "mcp.json", `{"servers": {
		"input": {"command": "x", "env": {"KEY": "${input:api-key}"}},
		"login": {"url": "https://example.com", "oauth": {"clientId": "x"}},
		"boxed": {"command": "x", "sandboxEnabled": true},
		"fine":  {"command": "x"},
		"typo":  {"comand": "x"},
		"unset": {"command": "${MISSING}"},
		"twice": {"command": "x"},
		"twice": {"command": "y"},
		"off":   {"comand": "x", "disabled": true},
		"":      {"command": "x"},
		"a\u001b[8m": {"command": "x"}}}`)
	const typo = ".comand: unknown key; did you mean \"command\"? known keys: args, command, cwd, disabled, env, envFile, excludeTools, headers, includeTools, oauth, revision, start, timeout, type, url"
	want := []struct{ name, err string }{
		{"input", "mcp.json:2: servers.input.env.KEY: inputs are not asked for; use an environment variable instead of ${input:api-key}"},
		{"login", "mcp.json:3: servers.login.oauth: not supported: this program does not sign in by the file"},
		{"boxed", "mcp.json:4: servers.boxed.sandboxEnabled: not supported: the server would run outside of its sandbox"},
		{"fine", ""},
		{"typo", "mcp.json:6: servers.typo" + typo},
		{"unset", "mcp.json:7: servers.unset.command: environment variable MISSING is not set; set it, or write ${MISSING:-text} for a default"},
		{"twice", "mcp.json:9: servers.twice: this server is on line 8 already"},
		{"off", "mcp.json:10: servers.off" + typo},
		{"", `mcp.json:11: servers."": a server needs a name`},
		{"a\x1b[8m", `mcp.json:12: servers."a\x1b[8m": the name has a character that cannot be seen`},
	}
	check.Require(t, len(cfg) == len(want), "got %d servers, want %d", len(cfg), len(want))
	var all []string
	for i, s := range cfg {
		check.Equal(t, "server", s.Name, want[i].name)
		if want[i].err == "" {
			_, ok := s.Transport.(*mcpclient.Command)
			check.That(t, ok && s.Err == nil, "%s: got %T and %v, want a *mcpclient.Command", s.Name, s.Transport, s.Err)
			continue
		}
		all = append(all, want[i].err)
		check.That(t, s.Err != nil && s.Err.Error() == want[i].err, "%s: got %v, want %s", s.Name, s.Err, want[i].err)
		if s.Name == "off" {
			check.That(t, s.Disabled && s.Transport == nil, "off: got %+v, want it disabled", s)
			continue
		}
		check.Equal(t, s.Name, check.Err(s.Transport.Dial(t.Context())), s.Err)
	}
	got := mistakes(cfg)
	check.That(t, got != nil && got.Error() == strings.Join(all, "\n"), "got %v of all, want\n%s", got, strings.Join(all, "\n"))
}

// A shell command is not the name of a program.
func TestCommandWithArguments(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "my server")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	check.Must(t, os.WriteFile(program, nil, 0o700))
	path := filepath.Join(dir, "mcp.json")
	const text = `{"servers": {
		"line":   {"command": "npx -y some-server"},
		"full":   {"command": "${workspaceFolder}/my server"},
		"inside": {"command": "./my server", "cwd": "${workspaceFolder}"},
		"other":  {"command": "./my server", "cwd": "${workspaceFolder}/none"},
		"absent": {"command": "no-such-program-here"}}}`
	check.Must(t, os.WriteFile(path, []byte(text), 0o600))
	cfg := check.Value(load(path))(t)
	const hint = `.command: there is no such program; arguments belong in "args", each a string of its own`
	got, want := mistakes(cfg), path+":2: servers.line"+hint+"\n"+path+":5: servers.other"+hint
	check.That(t, got != nil && got.Error() == want, "got %v, want %s", got, want)
	preview := check.Value(config.ParsePreview(path, []byte(text)))(t)
	check.NoError(t, mistakes(preview), "a preview looked for programs")
}

// A header keeps valid characters and refuses others, from the file or from a variable.
func TestHeaderValues(t *testing.T) {
	const refused = "the value has a line break or another control character"
	for value, ok := range map[string]bool{
		"a b\tc": true, "café": true,
		"a\nb": false, "a\rb": false, "a\x00b": false, "a\x1b[2Jb": false, "a\x7fb": false, "\n": false,
	} {
		ways := []string{string(check.Value(json.Marshal(value))(t))}
		if !strings.Contains(value, "\x00") { // which no variable can have
			t.Setenv("VALUE", value)
			ways = append(ways, `"${VALUE}"`)
		}
		for _, written := range ways {
			cfg := read(t, "mcp.json", `{"servers": {"s": {"url": "https://example.com", "headers": {"X-Key": `+written+`}}}}`)
			h, used := cfg[0].Transport.(*mcpclient.HTTP)
			if ok && (!used || h.Header.Get("X-Key") != value) || !ok && !strings.HasSuffix(fmt.Sprint(mistakes(cfg)), refused) {
				t.Errorf("%s of %q: got %+v, %v, want it kept: %t", written, value, h, mistakes(cfg), ok)
			}
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	write := func(name, text string) {
		t.Helper()
		check.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("mcp.json", `{"servers": {"s": {"command": "x", "envFile": "${workspaceFolder}/.env", "env": {"B": "file"}}}}`)
	write(".env", "# keys\n\nA='one two'\nexport B = \"env\"\r\nC=a=b\n")

	cfg := check.Value(load(path))(t)
	check.Same(t, "", cfg[0].Transport.(*mcpclient.Command).Env, []string{"A=one two", "B=env", "C=a=b", "B=file"})

	write(".env", "A=1\nhunter2\n")
	check.Equal(t, "bad environment file", fmt.Sprint(loadErr(t, path)), dir+"/.env:2: want NAME=value")
	check.Must(t, os.Remove(filepath.Join(dir, ".env")))
	check.Text(t, loadErr(t, path), path+":1: servers.s.envFile: open ", "missing environment file")
	check.Is(t, check.Err(load(filepath.Join(dir, "none.json"))), os.ErrNotExist, "missing file")
}

// loadErr returns the errors of the servers in a readable file.
func loadErr(t *testing.T, path string) error {
	t.Helper()
	return mistakes(check.Value(load(path))(t))
}

func TestBounds(t *testing.T) {
	big := `{"servers": {}}` + strings.Repeat(" ", 1<<20)
	for text, want := range map[string]string{
		big: "mcp.json:1: larger than 1048576 bytes",
		`{"x": ` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`: "mcp.json:1: more than 64 levels of lists and objects",
		"\xff\xfe{\x00":  "mcp.json:1: the file is in UTF-16; save it as UTF-8",
		"{\"a\xe9\": 1}": "mcp.json:1: a string is not UTF-8",
	} {
		check.Equal(t, text, mistake(t, new(config.Loader), text), want)
	}
	path := filepath.Join(t.TempDir(), "big.json")
	check.Must(t, os.WriteFile(path, []byte(big), 0o600))
	_, err := load(path)
	check.That(t, err != nil && strings.HasSuffix(err.Error(), "big.json: larger than 1048576 bytes"), "large file: got %v", err)
}

// Any text causes no panic, errors are a short line, and if encoding/json takes the text, the servers have its order and number.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a": {"command": "x", "args": ["${A:-b}"]}}}`))
	f.Add([]byte("\ufeff{\"servers\": {\"a\": {\"url\": \"http://x\", // c\n}, /* d */ }}"))
	f.Add([]byte(`{"servers": {"a": {"comand": 1}, "a": {}, "": {}}, "mcpServers": {"a": {"env": {"b": "", "b": 1}}}}`))
	f.Add([]byte(`{"servers": {"a": {"command": "$${${A}", "envFile": "e", "disabled": true}}}`))
	f.Add([]byte(`{"mcp": {"servers": {"a": {"command": "x", "timeout": 1e3, "tools": ["*"]}}}, "inputs": [{"id": "i", "type": "promptString"}]}`))
	f.Add([]byte(`{"context_servers": {"a": {"serverUrl": "http://${input:i}", "oauth": {"scopes": "a b", "callbackPort": 1}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := config.Loader{EnvFile: func(string) ([]byte, error) { return nil, nil }}
		cfg, err := l.LoadData(t.Context(), "f", data)
		if err != nil {
			oneLine(t, err)
			return
		}
		var plain struct {
			A map[string]json.RawMessage `json:"mcpServers"`
			B map[string]json.RawMessage `json:"servers"`
		}
		exact := !bytes.Contains(data, []byte("_")) && !bytes.Contains(data, []byte(`\u`)) && !bytes.Contains(data, []byte(`"mcp"`)) && !bytes.Contains(data, []byte(`"mcp.`)) && !strings.Contains(strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(string(data), "mcpServers", ""), "servers", "")), "servers")
		if json.Unmarshal(data, &plain) == nil && exact {
			want := map[string]bool{} // a server in both objects counts once
			for _, object := range []map[string]json.RawMessage{plain.A, plain.B} {
				for name := range object {
					want[name] = true
				}
			}
			check.Equal(t, "servers", len(cfg), len(want))
		}
		names := map[string]bool{}
		for _, s := range cfg {
			check.That(t, !names[s.Name] && (s.Name != "" || s.Err != nil) && (s.Transport == nil) == s.Disabled, "got %+v", s)
			names[s.Name] = true
			oneLine(t, s.Err)
		}
	})
}

func oneLine(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	text := err.Error()
	check.That(t, !strings.Contains(text, "\n") && len(text) <= 2000, "error is not one short line: %q", text)
}

// An error about a server has the place of its entry, and a mistake its own.
func TestAt(t *testing.T) {
	dir := t.TempDir()
	path, env := filepath.Join(dir, "mcp.json"), filepath.Join(dir, ".env")
	check.Must(t, os.WriteFile(env, []byte("A=1\nnonsense\n"), 0o600))
	cfg := check.Value(new(config.Loader).LoadData(t.Context(), path, []byte(`{"mcpServers": {
  "fine": {"command": "x"},

  "of two": {
    "command": "x",
    "args": ["a",
      3]
  },
  "empty": {},
  "file": {"command": "x", "envFile": "`+filepath.ToSlash(env)+`"},
  "twice": {"command": "x"}, "off": {"comand": "x", "disabled": true},
  "twice": {"command": "y"}}}`)))(t)
	ended := fmt.Errorf("server %q: connect: %w", "fine", io.EOF) // as package adapter has it
	for i, want := range []string{
		path + `:2: server "fine": connect: EOF`,
		path + `:7: server "of two": args[1]: want a string, got a number`,
		path + `:9: server "empty": want either "command", for a program to start, or "url", for a server to call`,
		filepath.ToSlash(env) + `:2: server "file": want NAME=value`,
		path + `:12: server "twice": this server is on line 11 already`,
		path + `:11: server "off": comand: unknown key; did you mean "command"? known keys: args, command, cwd, disabled, env, envFile, excludeTools, headers, includeTools, oauth, revision, start, timeout, type, url`,
	} {
		s := &cfg[i]
		reason := s.Err
		if reason == nil {
			reason = ended
		}
		got := s.Annotate(reason)
		check.That(t, got != nil && got.Error() == want, "got %v\nwant %s", got, want)
		check.That(t, errors.Is(got, config.ErrEntry) && (s.Err != nil || errors.Is(got, io.EOF)),
			"%s: got %T, want an ErrEntry that wraps the reason", s.Name, got)
	}
	check.NoError(t, cfg[0].Annotate(nil))
}

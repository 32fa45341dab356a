package service

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/guide"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestGuide runs the commands of the guide against a service, one after the other, with the ids of the run and its questions.
func TestGuide(t *testing.T) {
	text := check.Value(os.ReadFile("../../../../docs/service.md"))(t)
	p := person{t, start(t, settings(t), nil), "demo-ada"}
	id, ask, commands := "", "", guide.Commands(string(text))
	for _, c := range commands[1:] { // the first one starts the service
		if strings.Contains(c.Text, "ASK") {
			ask = p.nextAsk(id, ask)
		}
		command := strings.NewReplacer("localhost:8080", p.url, "RUN", id, "ASK", ask, "curl", "curl -sS --fail-with-body").Replace(c.Text)
		if strings.Contains(command, " -N ") {
			p.watch(command)
			continue
		}
		out, err := guide.Run(t.Context(), command, ".", os.Environ())
		check.Require(t, err == nil, "%s: %v %s", c.Text, err, out)
		if begun := regexp.MustCompile(`^{"run":"(run_\w+)"}\n$`).FindStringSubmatch(out); begun != nil {
			id = begun[1]
		}
		if strings.Contains(command, `"accept"`) {
			p.follow(id, "", is("answer"))
		}
	}
	got := p.state(id)
	check.That(t, got.Status == run.StatusFinished && strings.Contains(got.Answer, "2030-01-02") && len(commands) == 9, "got %s %q by %d commands, want a booking by 9", got.Status, got.Answer, len(commands))
}

func (p person) nextAsk(id, other string) string {
	p.t.Helper()
	ask := ""
	p.follow(id, "", func(e event) bool {
		var asked struct{ Ask struct{ ID string } }
		if e.Type == "asked" && json.Unmarshal([]byte(e.data), &asked) == nil && asked.Ask.ID != other {
			ask = asked.Ask.ID
		}
		return ask != ""
	})
	return ask
}

// watch runs a command that does not end, until it shows that the run waits.
func (p person) watch(command string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+command)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	check.Must(p.t, err)
	var seen strings.Builder
	for buffer := make([]byte, 4096); !strings.Contains(seen.String(), `"suspended"`); {
		n, err := out.Read(buffer)
		seen.Write(buffer[:n])
		check.Require(p.t, err == nil, "%s: %v after\n%s", command, err, seen.String())
	}
	cancel()
	_ = cmd.Wait() // it was killed
}

// TestCompose checks that the services of compose.yaml know the flags that they are given, and find each other.
func TestCompose(t *testing.T) {
	data := check.Value(os.ReadFile("../../compose.yaml"))(t)
	var file struct {
		Services map[string]struct {
			Image       string
			Command     []string
			Environment map[string]string
			Build       struct{ Context, Dockerfile string }
			Secrets     []string
			Grace       string `yaml:"stop_grace_period"`
		}
		Secrets map[string]any
	}
	check.Must(t, yaml.Unmarshal(data, &file))
	roles := map[string]string{"service": front, "worker": worker}
	graces := map[string]time.Duration{front: hosting.Shutdown, worker: 30 * time.Second} // as agent/temporal says
	for name, s := range file.Services {
		if roles[name] == "" {
			check.That(t, s.Image != "" && strings.Contains(s.Image, ":"), "%s: got image %q, want one with a version", name, s.Image)
			continue
		}
		if len(s.Command) < 2 || s.Command[0] != "serve" || s.Command[1] != "-api" {
			t.Errorf("%s: got %q, want the command serve -api", name, s.Command)
			continue
		}
		o, err := parse(s.Command[2:], io.Discard)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		grace, err := time.ParseDuration(s.Grace)
		check.That(t, err == nil && grace > graces[o.role], "%s: got %q before a kill, %v, want more than %v", name, s.Grace, err, graces[o.role])
		_, err = os.Stat("../../../../" + s.Build.Dockerfile)
		check.That(t, err == nil && s.Build.Context == "../..", "%s: built by %+v: %v", name, s.Build, err)
		postgres := file.Services["postgres"].Environment
		want := "postgres://" + postgres["POSTGRES_USER"] + "@postgres:5432/" + postgres["POSTGRES_DB"] + "?"
		check.That(t, o.role == roles[name] && o.temporal == "temporal:7233" && strings.HasPrefix(o.store, want),
			"%s: got role %s, Temporal %s, Postgres %s, want %s, temporal:7233, %s", name, o.role, o.temporal, o.store, roles[name], want)
		check.That(t, s.Environment["PGPASSWORD"] == postgres["POSTGRES_PASSWORD"] && !strings.Contains(strings.Join(s.Command, " "), "PASSWORD") && o.attributes,
			"%s: got %q, want the password in the environment alone, and search attributes", name, s.Command)
		for _, secret := range s.Secrets {
			check.That(t, file.Secrets[secret] != nil && o.Users == "/run/secrets/"+secret, "%s: got users %s, want the secret %q", name, o.Users, secret)
		}
		delete(roles, name)
	}
	check.That(t, len(roles) == 0, "compose.yaml has no %v", roles)
}

// TestBuildContext checks that a build gets nothing but code: what is beside the code may be secret.
func TestBuildContext(t *testing.T) {
	data := check.Value(os.ReadFile("../../Dockerfile.dockerignore"))(t)
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	check.Require(t, len(lines) >= 2 && lines[0] == "*", "got %q, want all to be left out first", lines)
	for _, line := range lines[1:] {
		switch name := path.Base(line); {
		case !strings.HasPrefix(line, "!"):
		case !slices.Contains([]string{"*.go", "*.js", "*.css", "*.html", "*.svg", "go.mod", "go.sum"}, name):
			t.Errorf("%s is let in", line)
		}
	}
}

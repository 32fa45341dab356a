package service

import (
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/internal/check"
)

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

package service

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/guide"
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
	if got := p.state(id); got.Status != run.StatusFinished || !strings.Contains(got.Answer, "2030-01-02") || len(commands) != 9 {
		t.Errorf("got %s %q by %d commands, want a booking by 9", got.Status, got.Answer, len(commands))
	}
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

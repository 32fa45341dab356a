package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// permissions are the kept decisions on later calls, as the person sees them.
type permissions struct {
	screen  screen.Screen
	servers *Servers
	listed  []approval.StoredDecision // the last list
}

// manage is the command /permissions: it lists or forgets decisions.
func (p *permissions) manage(ctx context.Context, argument string) error {
	if p.servers.Decisions == "" {
		return errors.New("there is no configuration folder: decisions end with the program")
	}
	store := approval.NewFiles(p.servers.Decisions)
	if argument == "" {
		return p.list(ctx, store)
	}
	word, which, _ := strings.Cut(argument, " ")
	which = strings.TrimSpace(which)
	if word != "forget" || which == "" {
		return errors.New("usage: /permissions, or /permissions forget N")
	}
	n, err := strconv.Atoi(which)
	if err != nil || n < 1 || n > len(p.listed) {
		return fmt.Errorf("no decision %s; /permissions lists them", hosttext.Line(which, 40))
	}
	if err := store.Drop(ctx, p.listed[n-1].Key); err != nil {
		return err
	}
	p.screen.Note(screen.Faint, "forgotten: %s", describeDecision(&p.listed[n-1]))
	return nil
}

// list lists the decisions. Their numbers are valid until the next list.
func (p *permissions) list(ctx context.Context, store *approval.Files) (err error) {
	if p.listed, err = store.List(ctx); err != nil {
		return err
	}
	for i, kept := range p.listed {
		p.screen.List(screen.Tool, "%2d  %s  %s", i+1, formatTime(kept.Stored), describeDecision(&kept))
	}
	if len(p.listed) == 0 {
		p.screen.List(screen.Faint, "nothing is decided for later calls")
	}
	return nil
}

// describeDecision describes a decision on one line.
func describeDecision(k *approval.StoredDecision) string {
	verb, what := "never", "all tools"
	if k.Decision.Allow {
		verb = "always"
	}
	if k.Key.Tool != "" {
		what = k.Key.Tool
	}
	return fmt.Sprintf("%s %s of %s (%s)", verb, hosttext.Line(what, 200), hosttext.Line(k.Key.Server, 100),
		hosttext.Line(cmp.Or(k.Key.Place, "the demo server"), 400))
}

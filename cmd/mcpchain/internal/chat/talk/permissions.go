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
		return errors.New("usage: /permissions, or /permissions forget N, or /permissions forget all")
	}
	if which == "all" {
		return p.forgetAll(ctx, store)
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

// forgetAll forgets the decisions of all folders. A person has to agree; a script is not asked.
func (p *permissions) forgetAll(ctx context.Context, store *approval.Files) error {
	kept, err := store.List(ctx)
	if err != nil {
		return err
	}
	decisions := screen.Plural(len(kept), "decision")
	if p.screen.Attended() && len(kept) > 0 {
		key, err := p.screen.Choose(ctx, &screen.Choice{
			Question: fmt.Sprintf("Forget %s, also those for other folders?", decisions),
			Answers:  []screen.Answer{{Key: 'y', Label: "yes"}, {Key: 'n', Label: "no"}},
		})
		if err != nil || key == 'n' {
			return err
		}
	}
	p.listed = nil
	if err := store.Forget(ctx, "", ""); err != nil {
		return err
	}
	p.screen.Note(screen.Faint, "forgotten: %s", decisions)
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

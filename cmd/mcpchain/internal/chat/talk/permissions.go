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

// managePermissions is the command /permissions: it lists or forgets decisions on later calls.
func (s *Session) managePermissions(ctx context.Context, argument string) error {
	if s.Servers.Decisions == "" {
		return errors.New("there is no configuration folder: decisions end with the program")
	}
	store := approval.NewFiles(s.Servers.Decisions)
	if argument == "" {
		return s.listPermissions(ctx, store)
	}
	word, which, _ := strings.Cut(argument, " ")
	which = strings.TrimSpace(which)
	if word != "forget" || which == "" {
		return errors.New("usage: /permissions, or /permissions forget N, or /permissions forget all")
	}
	if which == "all" {
		return s.forgetAll(ctx, store)
	}
	n, err := strconv.Atoi(which)
	if err != nil || n < 1 || n > len(s.listedDecisions) {
		return fmt.Errorf("no decision %s; /permissions lists them", hosttext.Line(which, 40))
	}
	if err := store.Drop(ctx, s.listedDecisions[n-1].Key); err != nil {
		return err
	}
	s.Screen.Note(screen.Faint, "forgotten: %s", describeDecision(&s.listedDecisions[n-1]))
	return nil
}

// forgetAll forgets the decisions of all folders. A person has to agree; a script is not asked.
func (s *Session) forgetAll(ctx context.Context, store *approval.Files) error {
	kept, err := store.List(ctx)
	if err != nil {
		return err
	}
	decisions := screen.Plural(len(kept), "decision")
	if s.Screen.Attended() && len(kept) > 0 {
		key, err := s.Screen.Choose(ctx, &screen.Choice{
			Question: fmt.Sprintf("Forget %s, also those for other folders?", decisions),
			Answers:  []screen.Answer{{Key: 'y', Label: "yes"}, {Key: 'n', Label: "no"}},
		})
		if err != nil || key == 'n' {
			return err
		}
	}
	s.listedDecisions = nil
	if err := store.Forget(ctx, "", ""); err != nil {
		return err
	}
	s.Screen.Note(screen.Faint, "forgotten: %s", decisions)
	return nil
}

// listPermissions lists the decisions. Their numbers are valid until the next list.
func (s *Session) listPermissions(ctx context.Context, store *approval.Files) (err error) {
	if s.listedDecisions, err = store.List(ctx); err != nil {
		return err
	}
	for i, kept := range s.listedDecisions {
		s.Screen.List(screen.Tool, "%2d  %s  %s", i+1, formatTime(kept.Stored), describeDecision(&kept))
	}
	if len(s.listedDecisions) == 0 {
		s.Screen.List(screen.Faint, "nothing is decided for later calls")
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

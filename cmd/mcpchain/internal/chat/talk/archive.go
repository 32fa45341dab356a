package talk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

const (
	agentName = "chatbot"

	leaseTTL    = 5 * time.Second // how long a killed program holds its conversation
	cancelWait  = 5 * time.Second // for the store to cancel a turn
	maxListed   = 20              // conversations in a list
	maxSearched = 100             // conversations that are searched for one of the folder
	folderVar   = "folder"        // variable of a run with the folder of the conversation
)

// formatTime formats a time for a list, in the person's time zone.
func formatTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// newName returns a new name for a conversation, which begins with the current time.
func newName() string {
	var random [3]byte
	_, _ = rand.Read(random[:]) // never fails
	return time.Now().Format("20060102-150405-") + hex.EncodeToString(random[:])
}

// startFolder returns the folder in which a conversation began, "" if it is not known.
func startFolder(state *ledger.State) (folder string) {
	if json.Unmarshal(state.Vars[folderVar], &folder) != nil {
		return ""
	}
	return folder
}

// archive is the store of conversations, as the person sees it.
type archive struct {
	store  record.Store
	screen screen.Screen
	folder string     // in which the program was started
	listed []run.Head // the last list, whose numbers the person knows
}

// newest returns the heads of the newest conversations that this version can read.
func (a *archive) newest(ctx context.Context, limit int) (heads []run.Head, err error) {
	list := a.store.List(ctx, record.Query{Agents: []string{agentName}, Limit: limit})
	for head, err := range record.SkipDamaged(list, nil) {
		if err != nil {
			return nil, err
		}
		heads = append(heads, head)
	}
	return heads, nil
}

// list is the command /conversations.
func (a *archive) list(ctx context.Context, _ string) error {
	heads, err := a.newest(ctx, maxListed)
	if err != nil {
		return err
	}
	a.listed = heads
	for i, head := range heads {
		about := "(cannot be read)"
		if state, err := a.load(ctx, head.Key); err == nil {
			about = hosttext.Line(firstQuestion(state.History), 60) + a.folderNote(state)
		}
		waits := ""
		if !head.Status.Ended() {
			waits = ", waits to be continued"
		}
		a.screen.List(screen.Tool, "%2d  %s%s  %s", i+1, formatTime(head.Updated), waits, about)
	}
	if len(heads) == 0 {
		a.screen.List(screen.Faint, "there are no conversations")
	}
	return nil
}

// folderNote tells in which folder a conversation began.
func (a *archive) folderNote(state *ledger.State) string {
	switch folder := startFolder(state); folder {
	case "":
		return ""
	case a.folder:
		return " (in this folder)"
	default:
		return " (in " + hosttext.Line(folder, 200) + ")"
	}
}

// newestOfFolder returns the newest conversation of this folder.
func (a *archive) newestOfFolder(ctx context.Context) (run.Head, error) {
	heads, err := a.newest(ctx, maxSearched)
	if err != nil {
		return run.Head{}, err
	}
	for _, head := range heads {
		state, err := a.load(ctx, head.Key)
		switch {
		case ctx.Err() != nil:
			return head, context.Cause(ctx)
		case err == nil && startFolder(state) == a.folder: // what cannot be read is skipped
			return head, nil
		}
	}
	return run.Head{}, errors.New("no conversation of this folder to continue; " +
		"/conversations lists all, and /resume N continues one")
}

// find returns a conversation by its number in the last list, or else among the newest ones.
func (a *archive) find(ctx context.Context, number string) (_ run.Head, err error) {
	heads := a.listed
	if heads == nil {
		if heads, err = a.newest(ctx, maxListed); err != nil {
			return run.Head{}, err
		}
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(heads) {
		return run.Head{}, fmt.Errorf("no conversation %s; /conversations lists them", hosttext.Line(number, 40))
	}
	return heads[n-1], nil
}

// firstQuestion returns the first question of a conversation, by which a list describes it.
func firstQuestion(history []run.Message) string {
	for _, m := range history {
		if m.Role == run.RoleUser {
			return questionText(m)
		}
	}
	return "(no question)"
}

// load returns the state of a stored conversation.
func (a *archive) load(ctx context.Context, key run.Key) (*ledger.State, error) {
	return database.LoadState(ctx, a.store, key)
}

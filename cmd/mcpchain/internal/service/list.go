package service

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
)

// The default and the maximum of runs in a page.
const (
	defaultListed = 100
	maxListed     = 1000
)

// rowJSON is a run in the list.
type rowJSON struct {
	Run     string     `json:"run"`
	Status  run.Status `json:"status"`
	Asks    int        `json:"asks"` // questions without an answer
	Updated time.Time  `json:"updated"`
}

// list answers with a page of a user's runs, the latest change first.
func (s *service) list(w http.ResponseWriter, r *http.Request, c caller) error {
	limit, after, err := parsePage(r.URL.Query(), c.name)
	if err != nil {
		return err
	}
	rows, more, err := s.page(r.Context(), record.Query{Tenant: c.name, After: after}, limit)
	if err != nil {
		return err
	}
	body := struct {
		Runs []rowJSON `json:"runs"`
		Next string    `json:"next,omitempty"` // where the next page begins
	}{Runs: rows}
	if more {
		last := rows[len(rows)-1]
		body.Next = fmt.Sprintf("%d.%s", last.Updated.UnixNano(), last.Run)
	}
	hosting.WriteJSON(w, http.StatusOK, body)
	return nil
}

// parsePage parses which page is wanted: at most limit runs that follow the run after, or the first ones.
func parsePage(q url.Values, user string) (limit int, after *run.Head, err error) {
	limit = defaultListed
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxListed {
			return 0, nil, hosting.Refuse(http.StatusBadRequest, "limit: want a number from 1 to %d", maxListed)
		}
	}
	if text := q.Get("before"); text != "" {
		number, id, _ := strings.Cut(text, ".")
		at, err := strconv.ParseInt(number, 10, 64)
		if err != nil || id == "" {
			return 0, nil, hosting.Refuse(http.StatusBadRequest, "before: want the next of another page")
		}
		after = &run.Head{Key: run.Key{Tenant: user, ID: id}, Updated: time.Unix(0, at)}
	}
	return limit, after, nil
}

// page returns at most limit runs, and reports whether there are more. It leaves out damaged ones.
func (s *service) page(ctx context.Context, q record.Query, limit int) (rows []rowJSON, more bool, err error) {
	rows = []rowJSON{}
	for head, err := range record.SkipDamaged(s.store.List(ctx, q), nil) {
		switch {
		case err != nil:
			return nil, false, err
		case len(rows) == limit:
			return rows, true, nil
		}
		rows = append(rows, rowJSON{head.Key.ID, head.Status, len(head.QuestionIDs) - head.ReplyCount, head.Updated})
	}
	return rows, false, nil
}

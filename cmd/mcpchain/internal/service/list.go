package service

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// Runs of a list, unless the request says how many, and at most.
const (
	defaultListed = 100
	maxListed     = 1000
)

// row is a run of a list.
type row struct {
	Run     string     `json:"run"`
	Status  run.Status `json:"status"`
	Asks    int        `json:"asks"`
	Updated time.Time  `json:"updated"`
}

// list lists the runs of a user, the last changed one first, page by page.
func (s *service) list(w http.ResponseWriter, r *http.Request, c caller) error {
	limit, at, err := parsePage(r.URL.Query())
	if err != nil {
		return err
	}
	rows, more, err := s.page(r.Context(), c.name, at, limit)
	if err != nil {
		return err
	}
	body := struct {
		Runs []row  `json:"runs"`
		Next string `json:"next,omitempty"` // where the next page begins
	}{Runs: rows}
	if more {
		last := rows[len(rows)-1]
		body.Next = cursor{last.Updated.UnixNano(), last.Run}.String()
	}
	return write(w, http.StatusOK, body)
}

// parsePage reads which page is wanted.
func parsePage(q url.Values) (limit int, at cursor, err error) {
	limit = defaultListed
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxListed {
			return 0, at, refusal{http.StatusBadRequest, fmt.Sprintf("limit: want a number from 1 to %d", maxListed)}
		}
	}
	at = cursor{updated: math.MaxInt64}
	if text := q.Get("before"); text != "" {
		number, id, _ := strings.Cut(text, ".")
		at.id = id
		if at.updated, err = strconv.ParseInt(number, 10, 64); err != nil || id == "" {
			return 0, at, refusal{http.StatusBadRequest, "before: want the next of another page"}
		}
	}
	return limit, at, nil
}

// cursor is a place in the list: behind the run that last changed at a time, and that has an id.
type cursor struct {
	updated int64 // nanoseconds
	id      string
}

func (c cursor) String() string { return fmt.Sprintf("%d.%s", c.updated, c.id) }

// isBefore reports whether a run comes behind the place.
func (c cursor) isBefore(h record.Head) bool {
	at := h.Updated.UnixNano()
	return at < c.updated || at == c.updated && c.id < h.Key.ID
}

// page is what comes behind a place. Only runs of one moment are read twice.
func (s *service) page(ctx context.Context, user string, at cursor, limit int) (rows []row, more bool, err error) {
	q := record.Query{Tenant: user, Limit: limit + 2} // the run of the cursor, and one more than wanted
	if at.updated < math.MaxInt64 {
		q.Before = time.Unix(0, at.updated+1)
	}
	for ; ; q.Limit *= 2 {
		read := 0
		rows = []row{}
		for head, err := range record.Readable(s.store.List(ctx, q), func(*record.DamagedError) { read++ }) {
			if err != nil {
				return nil, false, err
			}
			read++
			if !at.isBefore(head) {
				continue
			}
			if len(rows) == limit {
				return rows, true, nil
			}
			rows = append(rows, row{head.Key.ID, head.Status, len(head.Questions), head.Updated})
		}
		if read < q.Limit {
			return rows, false, nil
		}
	}
}

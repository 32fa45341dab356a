package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
)

// Pages of a SQLite file that are free for later runs: above a share of all pages, each
// deletion of a run returns some. The file becomes shorter with the next checkpoint.
const (
	freeShare = 8    // 1/freeShare of all pages may be free
	fewPages  = 256  // too few to return
	maxReturn = 1024 // pages that one deletion returns; 4 MiB at the usual page size
)

// returnPages returns free pages of the file to the file system. A file of an early version keeps them.
func (t *tx) returnPages(ctx context.Context) error {
	if t.d.remote {
		return nil
	}
	var free, all int
	if err := one(ctx, t, "PRAGMA freelist_count", nil, &free); err != nil {
		return err
	}
	if err := one(ctx, t, "PRAGMA page_count", nil, &all); err != nil {
		return err
	}
	if free <= max(fewPages, all/freeShare) {
		return nil
	}
	// It returns a row for each page, and drivers step an Exec once.
	return each(ctx, t, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", maxReturn), nil, func(*sql.Rows) error { return nil })
}

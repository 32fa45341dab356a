package sqlstore

import (
	"context"
	"fmt"
)

// The pages of a SQLite file that are free for later runs: beyond a share of all, some are given back with each run that is
// deleted. The file is shorter after the next checkpoint.
const (
	freeShare = 8    // of the pages
	fewPages  = 256  // that are not worth it
	someBack  = 1024 // pages; 4 MiB of the usual size
)

// giveBack gives free pages of the file back. A file that was made by a version without that keeps them.
func (t *tx) giveBack(ctx context.Context) error {
	if !t.d.vacuum {
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
	rows, err := t.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", someBack)) // a row for each page: drivers step an Exec once
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
	}
	return rows.Err()
}

package kept

import "context"

// FindAll returns the matches of a pattern in a text, and how much of it was searched in so many steps.
func FindAll(ctx context.Context, expr, text string, steps int) (found [][]int, searched int, err error) {
	p, err := compile(expr)
	if err != nil {
		return nil, 0, err
	}
	found, searched = p.findAll(ctx, text, 0, steps)
	return found, searched, nil
}

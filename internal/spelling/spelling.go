// Package spelling finds the words that a mistyped word may stand for.
package spelling

import (
	"fmt"
	"slices"
	"strings"
)

// distanceOf counts the bytes to insert, remove or replace to make a into b. It counts up to
// limit only.
func distanceOf(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return min(row[len(b)], limit)
}

// Nearest returns the known word that a mistyped one means most likely, or "" if none is near. Case
// makes no difference.
func Nearest(word string, known []string) string {
	best, distance := "", max(2, len(word)/3)+1
	for _, k := range known {
		a, b := strings.ToLower(word), strings.ToLower(k)
		if d := distanceOf(a, b, distance); d < distance && (2*d <= max(len(a), len(b)) || letters(a) == letters(b)) {
			best, distance = k, d
		}
	}
	return best
}

// letters returns the bytes of a word in order.
func letters(word string) string {
	sorted := []byte(word)
	slices.Sort(sorted)
	return string(sorted)
}

// Hint returns the question whether the nearest known word is meant, for the end of an error, or
// "" if none is near.
func Hint(word string, known []string) string {
	near := Nearest(word, known)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", near)
}

package screen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Cost formats amounts in millionths by currency, such as "0.12 USD". It returns "" for no amounts.
func Cost(amounts map[string]int64) string {
	var parts []string
	for _, currency := range slices.Sorted(maps.Keys(amounts)) {
		amount := float64(amounts[currency]) / 1e6
		switch {
		case amounts[currency] == 0:
			parts = append(parts, "0 "+currency)
		case amount < 0.01:
			parts = append(parts, fmt.Sprintf("%.2g %s", amount, currency))
		default:
			parts = append(parts, fmt.Sprintf("%.2f %s", amount, currency))
		}
	}
	return strings.Join(parts, " + ")
}

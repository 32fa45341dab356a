package agent

import "github.com/mcpchain/mcpchain/internal/price"

// Prices is a table of prices, the type of package sampling: share one table.
type Prices = price.Table

// Price is what a million tokens of a model cost, in millionths of a currency's unit, see
// package sampling.
type Price = price.Price

package temporal

// Patience is how long a worker waits before it asks for a held run again.
var Patience = patience

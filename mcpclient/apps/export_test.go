package apps

// OfResource is for tests.
var OfResource = readResourceMeta

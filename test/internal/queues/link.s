// This file lets link.go declare functions without a body.

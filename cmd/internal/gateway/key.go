package gateway

import "context"

type keyKey struct{}

// WithKey returns a context that has the key which the guard has found, for the
// site.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyKey{}, key)
}

func keyIn(ctx context.Context) string {
	key, _ := ctx.Value(keyKey{}).(string)
	return key
}

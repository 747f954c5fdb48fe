// Package likes is the like button of docs/cheap-writes.md in three ways: with a set in
// Redis that forgets, with a unique index, and without any protection.
package likes

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"
)

// Open connects to Redis. It never sends a command twice by itself: a mark that was set
// before its answer got lost would look like that of an earlier like.
func Open(addr, password string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, Password: password, MaxRetries: -1})
}

// Like counts a like, unless Redis remembers that this visitor liked the post within
// the last day. Where Redis cannot tell, the like counts: one too many is no harm.
func Like(ctx context.Context, db *sql.DB, seen *redis.Client, post int64, visitor string) error {
	mark := fmt.Sprintf("like:%d:%s", post, visitor)
	first, err := seen.SetNX(ctx, mark, 1, 24*time.Hour).Result() // SET mark 1 EX 86400 NX
	if err != nil {
		log.Printf("likes: counted without asking Redis: %v", err)
		first = true
	}
	if !first {
		return nil
	}
	if err := Count(ctx, db, post); err != nil {
		seen.Del(context.WithoutCancel(ctx), mark) // the visitor may try again
		return err
	}
	return nil
}

// LikeOnce counts a like of this visitor once for ever: a unique index on (post, visitor)
// decides. For PostgreSQL write $1 and $2; MySQL and MariaDB have ON DUPLICATE KEY UPDATE
// post = post in place of ON CONFLICT.
func LikeOnce(ctx context.Context, db *sql.DB, post int64, visitor string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO likes (post, visitor) VALUES (?, ?)
		ON CONFLICT (post, visitor) DO NOTHING`, post, visitor)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err // liked before
	}
	if _, err := tx.ExecContext(ctx, `UPDATE posts SET likes = likes + 1 WHERE id = ?`, post); err != nil {
		return err
	}
	return tx.Commit()
}

// Count counts whatever comes. A double click is two.
func Count(ctx context.Context, db *sql.DB, post int64) error {
	_, err := db.ExecContext(ctx, `UPDATE posts SET likes = likes + 1 WHERE id = ?`, post)
	return err
}

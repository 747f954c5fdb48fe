CREATE TABLE IF NOT EXISTS "idempotency" (
  id INTEGER PRIMARY KEY,
  idem_key TEXT NOT NULL,
  scope TEXT NOT NULL,
  owner TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT 'processing' CHECK (status IN ('processing', 'done', 'failed')),
  fingerprint TEXT,
  token TEXT,
  lease_until TEXT,
  attempts INTEGER NOT NULL DEFAULT 1,
  error TEXT,
  response TEXT,
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  expires_at TEXT
);

CREATE UNIQUE INDEX IF NOT EXISTS "idempotency_uk" ON "idempotency" (idem_key, scope, owner);

CREATE INDEX IF NOT EXISTS "idempotency_idx_expires" ON "idempotency" (expires_at);

CREATE TABLE IF NOT EXISTS `idempotency` (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  idem_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  scope VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  owner VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  status ENUM('processing','done','failed') NOT NULL DEFAULT 'processing',
  fingerprint VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NULL,
  token VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
  lease_until DATETIME(6) NULL,
  attempts INT NOT NULL DEFAULT 1,
  error TEXT CHARACTER SET utf8mb4 NULL,
  response MEDIUMTEXT CHARACTER SET utf8mb4 NULL,
  created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  updated_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  expires_at DATETIME(6) NULL,
  PRIMARY KEY (id),
  UNIQUE KEY idempotency_uk (idem_key, scope, owner),
  KEY idempotency_idx_expires (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

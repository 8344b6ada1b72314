-- +goose Up
-- The same tables, columns and rules as in ../mysql, whose comments hold here too.

CREATE TABLE tb_purge (
    voucher_id  BIGINT   NOT NULL PRIMARY KEY,
    orders      BIGINT   NOT NULL DEFAULT 0,
    figures     TEXT     NOT NULL,
    waitlist    TEXT     NOT NULL,
    create_time DATETIME NOT NULL,
    end_time    DATETIME NULL
) WITHOUT ROWID;

CREATE TABLE tb_purge_day (
    voucher_id BIGINT      NOT NULL,
    day        VARCHAR(10) NOT NULL,
    received   BIGINT      NOT NULL,
    receipts   BIGINT      NOT NULL,
    refunded   BIGINT      NOT NULL,
    refunds    BIGINT      NOT NULL,
    lost       BIGINT      NOT NULL,
    losses     BIGINT      NOT NULL,
    returns    BIGINT      NOT NULL,
    PRIMARY KEY (voucher_id, day)
) WITHOUT ROWID;
CREATE INDEX idx_purge_day ON tb_purge_day (day);

CREATE TABLE tb_forgotten (
    pseudonym   BIGINT   NOT NULL PRIMARY KEY,
    user_id     BIGINT   NULL UNIQUE,
    create_time DATETIME NOT NULL,
    end_time    DATETIME NULL
) WITHOUT ROWID;

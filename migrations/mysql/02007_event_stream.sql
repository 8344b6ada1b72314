-- +goose Up
-- The events of tb_webhook_event as a stream that programs read with a cursor: one row, made once no version 1.0 runs.
CREATE TABLE IF NOT EXISTS tb_event_stream (
    id          TINYINT       NOT NULL,
    cursor_key  VARBINARY(16) NOT NULL COMMENT 'hides the numbers in cursors; another one ends all cursors',
    gone        BIGINT        NOT NULL COMMENT 'the highest number of an event that was deleted, or is older than the stream',
    epoch       BIGINT        NOT NULL DEFAULT 0 COMMENT 'how many times events of all shops began to be written',
    all_since   DATETIME(3)   NULL COMMENT 'since when they are; NULL: only for shops with an endpoint',
    all_until   DATETIME(3)   NULL COMMENT 'until when an instance wants that, at least',
    create_time DATETIME(3)   NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The events of sales: how many each has had, and which of those that come once were written.
CREATE TABLE IF NOT EXISTS tb_sale_event (
    voucher_id BIGINT  NOT NULL,
    number     BIGINT  NOT NULL COMMENT 'of the sale''s last event',
    started    TINYINT NOT NULL DEFAULT 0,
    sold_out   TINYINT NOT NULL DEFAULT 0,
    ended      TINYINT NOT NULL DEFAULT 0,
    PRIMARY KEY (voucher_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

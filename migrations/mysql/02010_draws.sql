-- +goose Up
-- Draws of the moments at which buyers may buy, which anybody can check afterwards.

-- A draw. A sale's highest number is its current one. What was committed to never changes: a change begins another draw.
CREATE TABLE IF NOT EXISTS tb_draw (
    voucher_id  BIGINT       NOT NULL,
    number      INT          NOT NULL COMMENT 'from 1, within the sale',
    draw_key    BINARY(32)   NOT NULL COMMENT 'secret until the sale is over',
    key_hash    BINARY(32)   NOT NULL COMMENT 'its SHA-256, public from the beginning',
    begin_time  DATETIME(3)  NOT NULL COMMENT 'of the sale',
    delay_ms    BIGINT       NOT NULL COMMENT 'every moment is less than that after the begin',
    close_time  DATETIME(3)  NOT NULL COMMENT 'who asks for a ticket before then enters',
    source      VARCHAR(128) NOT NULL DEFAULT '' COMMENT 'who publishes the beacon; empty: there is none',
    round       VARCHAR(64)  NOT NULL DEFAULT '' COMMENT 'which of the source''s values is the beacon',
    create_time DATETIME(3)  NOT NULL,
    closed_time DATETIME(3)  NULL COMMENT 'since then nobody enters',
    entries     BIGINT       NOT NULL DEFAULT 0 COMMENT 'how many entered, once there is a root',
    root        BINARY(32)   NULL COMMENT 'SHA-256 of the hashes of all entries; NULL: not computed yet',
    beacon      VARCHAR(256) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    beacon_time DATETIME(3)  NULL COMMENT 'when it was entered',
    void_time   DATETIME(3)  NULL COMMENT 'since then it counts no more',
    void_why    VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '' COMMENT 'changed, off, restored',
    PRIMARY KEY (voucher_id, number)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Who has entered a draw.
CREATE TABLE IF NOT EXISTS tb_draw_entry (
    voucher_id BIGINT     NOT NULL,
    number     INT        NOT NULL,
    user_id    BIGINT     NOT NULL,
    entry      BIGINT     NOT NULL COMMENT 'random: the entrant keeps it',
    hash       BINARY(32) NOT NULL COMMENT 'SHA-256 of voucher, draw and entry: what is published of it',
    PRIMARY KEY (voucher_id, number, user_id),
    UNIQUE KEY uk_draw_entry_hash (voucher_id, number, hash),
    KEY idx_draw_entry_user (user_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Up
-- Payments whose money is under way, and notices of payment providers that were refused.

-- Notices that were refused: one row for each provider and reason, about the last of them.
CREATE TABLE IF NOT EXISTS tb_refused_notice (
    provider    VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'empty: the path named none that is configured',
    refusal     VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    notices     BIGINT       NOT NULL COMMENT 'how many, more or less',
    detail      VARCHAR(255) NOT NULL,
    payment_id  VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'that it named; empty unless it was rightly signed',
    amount      BIGINT       NOT NULL COMMENT 'likewise',
    refuse_time DATETIME(3)  NOT NULL,
    PRIMARY KEY (provider, refusal)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

ALTER TABLE tb_payment
    ADD COLUMN progress TINYINT NOT NULL DEFAULT 0 COMMENT 'of an open one: 0 begun, 1 its money is under way, 2 it failed, 3 it was cancelled at the provider',
    ALGORITHM = INSTANT;

ALTER TABLE tb_payment
    ADD COLUMN progress_time DATETIME(3) NULL COMMENT 'when the provider said so',
    ALGORITHM = INSTANT;

ALTER TABLE tb_payment
    ADD COLUMN progress_until DATETIME(3) NULL COMMENT 'when the provider expects money that is under way',
    ALGORITHM = INSTANT;

ALTER TABLE tb_payment
    ADD COLUMN failure VARCHAR(255) NOT NULL DEFAULT '' COMMENT 'why it failed, in the provider''s words',
    ALGORITHM = INSTANT;

ALTER TABLE tb_voucher_order
    ADD COLUMN processing TINYINT NOT NULL DEFAULT 0 COMMENT '1: money for it is under way; 2: was, and did not come',
    ALGORITHM = INSTANT;

ALTER TABLE tb_voucher
    ADD COLUMN processing_within BIGINT NULL COMMENT 'by how much the payment deadline may move while money is under way, seconds; NULL: by pay_within',
    ALGORITHM = INSTANT;

-- +goose Up
-- The identity of operations: with their number alone, one that Redis has applied and one that the ledger lost and
-- numbered again cannot be told apart.
--
-- Signed, as Go and SQLite have no unsigned 64-bit value that every driver takes; only equality counts.
ALTER TABLE tb_voucher_operation
    ADD COLUMN identity BIGINT NULL COMMENT '64 random bits; NULL: unknown',
    ALGORITHM = INSTANT;

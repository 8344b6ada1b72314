-- Raises the token of the present stay to the one that its owner has from several servers together. Repeating it is
-- harmless. After clock.lua, token.lua and holds.lua.
--
-- KEYS[1]  the lock     hash (holds.lua)
-- KEYS[2]  the counter  string, the last token handed out (token.lua)
-- ARGV[1]  owner
-- ARGV[2]  the token, text
-- ARGV[3]  request
--
-- Returns  1  the request holds the lock, with this token or a higher one
--          0  it does not; nothing was changed

if not holding(KEYS[1], ARGV[1], ARGV[3], clock()) then
  return 0
end
if tonumber(token_of(KEYS[1])) < tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[1], 'token', ARGV[2])
  keep_token(KEYS[2], redis.call('GET', KEYS[2]), ARGV[2])
end
return 1
